// The environment of a node.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "actors/calls/call_grants.h"
#include "node/config/config.h"
#include "node/config/settings.h"

namespace troupe::detail {

/// Returns the threads of mathematics of each of `processes` on a host with `cores`; `configured` has priority, unless
/// it is 0.
[[nodiscard]] int math_threads_of(int configured, int cores, int processes);

/// Returns `host`, the variables of the launcher or agent, as its nodes inherit them: without what is meant for
/// another node, with `math_threads` for the libraries of mathematics where the user has not set them.
[[nodiscard]] Variables inherited_variables(Variables host, int math_threads);

/// Which node of a cluster.
struct NodeOfRole {
  std::size_t rank = 0;
  std::string role;
  int index = 0;  ///< within the role
};

/// Returns what `calls` of a role grants, to nodes: a role's name stands for its nodes.
[[nodiscard]] CallGrants call_grants_of(const ClusterConfig& config, const RoleConfig& role);

/// Returns the settings of a node and the variables that say which one it is; `names` are in order of rank. Addresses
/// and secrets are not among them.
[[nodiscard]] Variables place_variables(const ClusterConfig& config, const std::string& cluster_id,
                                        std::span<const std::string> names, const NodeOfRole& node);

/// Returns 16 hexadecimal digits, random.
[[nodiscard]] std::string random_cluster_id();

}  // namespace troupe::detail
