// `troupe up`: starts all processes of a cluster, shows their output, and ends them together.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "node/config/config.h"
#include "node/config/settings.h"

namespace troupe {

struct LaunchOptions {
  std::filesystem::path log_dir;              ///< gets <node>.log with all output of a node; empty = none
  Variables variables = process_variables();  ///< inherited by nodes
  std::string version = {};                   ///< of this program; agents of other hosts must have the same
};

/// Runs the cluster to its end. Returns the shell's exit status: 0 if every node succeeded, otherwise that of the first
/// failure (its own exit status, or 128 + signal), or 128 + signal after an interrupt; 1 if nothing else failed and
/// standard output could not be written. If its reader has gone, that is an interrupt by SIGPIPE.
///
/// Nodes print through standard output and error, prefixed with their names; the last line is the first failure, or the
/// result if one is configured. On other hosts, agents run the nodes (hosts/). No process of the cluster outlives the
/// call, nor this process, however it ends. REQUIRES: called on the main thread of a process without other threads; it
/// takes SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE and SIGWINCH for its duration. Throws ConfigError, before anything
/// is started, if the plan fails.
[[nodiscard]] int run_cluster(const ClusterConfig& config, const LaunchOptions& options);

namespace detail {

struct LaunchHost;
struct LaunchPlan;

/// Returns the facts about this machine and this process's output.
[[nodiscard]] LaunchHost this_host(const Variables& variables);

/// As run_cluster, with the plan that `make_plan` returns. It is called once the guard of the processes runs, which so
/// has no copy of the keys that a plan draws or reads; `config` may become complete in it.
[[nodiscard]] int run_plan(const ClusterConfig& config, const LaunchOptions& options,
                           const std::function<LaunchPlan()>& make_plan);

}  // namespace detail

}  // namespace troupe
