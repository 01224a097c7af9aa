// The plan of `troupe up`, complete before anything is started.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/file_descriptor.h"
#include "node/hosts/host_plan.h"
#include "node/launch/child_process.h"

namespace troupe::detail {

/// Facts about the launcher's host.
struct LaunchHost {
  Variables variables;  ///< inherited by nodes
  int cores = 1;
  bool shows_bars = false;  ///< the output is a terminal
};

struct NodePlan {
  std::string name;   ///< "trainer1"
  std::string label;  ///< the prefix of its lines: "trainer/1"
  OnExit on_exit;
  ChildSpec child;  ///< if it runs here
};

struct LaunchPlan {
  std::string cluster_id;             ///< 16 hexadecimal digits, random
  std::vector<NodePlan> nodes;        ///< in order of rank
  std::optional<std::size_t> result;  ///< the node whose last line is repeated at the end
  FileDescriptor reserved_port;       ///< keeps the seed's port from others until the seed listens there
  std::vector<HostPlan> hosts;        ///< that run the nodes; none: all run here
  bool nodes_have_key_files = false;  ///< with the cluster's secret: they are told none
  std::string part;                   ///< the [[host]] whose nodes these are, of a cluster that has others; empty: all
};

/// Returns the plan for `config`: names, ranks, programs, addresses. Throws ConfigError for what cannot be started:
/// missing programs or working directories, a port in use. If it draws keys, this process forbids others to attach to
/// it or to read its memory (keys/dump_guard.h), unless `config` is for debugging.
[[nodiscard]] LaunchPlan plan_launch(const ClusterConfig& config, const LaunchHost& host);

}  // namespace troupe::detail
