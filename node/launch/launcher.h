// `troupe up`: starts all processes of a cluster, shows what they print, and ends them together.
#pragma once

#include <filesystem>

#include "node/config/config.h"
#include "node/config/settings.h"

namespace troupe {

struct LaunchOptions {
  std::filesystem::path log_dir;              ///< gets <node>.log with all that a node printed; empty = none
  Variables variables = process_variables();  ///< what nodes inherit
};

/// Runs the cluster to its end and returns the status for the shell: 0 if every node succeeded, else that of the first
/// failure (its own exit status, or 128 + signal), or 128 + signal after an interrupt.
///
/// Nodes print through standard output and error with their names in front; the last line is the first failure, or the
/// result if one is configured. No process of the cluster outlives the call, nor this process, however it ends.
/// Call it on the main thread of a process with no other thread; it takes SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE and
/// SIGWINCH for its duration. Throws ConfigError, before anything is started, for what cannot be.
[[nodiscard]] int run_cluster(const ClusterConfig& config, const LaunchOptions& options);

}  // namespace troupe
