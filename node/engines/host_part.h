// `troupe up --host`: one host's part of a cluster, started there by hand or by a service, with keys in files.
#pragma once

#include <string>

#include "node/config/config.h"
#include "node/engines/key_file_node.h"
#include "node/launch/launch_plan.h"
#include "node/launch/launcher.h"

namespace troupe {

struct HostPartOptions {
  std::string host;     ///< a [[host]] of the file
  KeyFileOptions keys;  ///< `keys` is a directory with one "NAME.key" for each node of the host; no name and no pod
};

namespace detail {

/// Returns the plan for the nodes that the file places on this host; `config` becomes that of a cluster with keys, as
/// by key_file_node. Throws ConfigError with all problems, std::invalid_argument for what `options` lack; RemoteError
/// for key files that are not right.
[[nodiscard]] LaunchPlan plan_host_part(ClusterConfig& config, const HostPartOptions& options, const LaunchHost& here);

}  // namespace detail

/// Runs that part to its end, as run_cluster does all of a cluster: nodes of other hosts are somebody else's to start
/// and to end. They may start in any order, within cluster.join_timeout.
[[nodiscard]] int run_host_part(ClusterConfig config, const HostPartOptions& options, const LaunchOptions& launch);

}  // namespace troupe
