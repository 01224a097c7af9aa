// Options of nodes over TCP on this machine, with keys of a run.
#pragma once

#include <chrono>
#include <string>

#include "node/keys/key_ring.h"
#include "node/node.h"

namespace troupe::testing {

/// A node that founds a cluster, or joins one through `seed` if that is not empty.
inline NodeOptions keyed_options(const std::string& cluster_id, const ClusterSecret& secret, const KeyRing& ring,
                                 const std::string& seed) {
  NodeOptions options;
  options.name = ring.own_name();
  options.cluster_id = cluster_id;
  options.secret = secret;
  options.keys = ring;
  options.seed = seed;
  options.world_size = 0;
  options.join_deadline = std::chrono::seconds{10};
  return options;
}

}  // namespace troupe::testing
