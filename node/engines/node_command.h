// `troupe node`: one task of an engine's job step becomes one node of a cluster.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/config/settings.h"
#include "node/engines/key_file_node.h"

namespace troupe {

struct NodeCommandOptions {
  ClusterConfig config;
  std::vector<std::string> arguments;  ///< after those of the role's command
  std::filesystem::path job_dir;       ///< where directories of jobs are; empty: below the user's cache
  std::string munge;                   ///< as munge_proof takes it
  KeyFileOptions keys;                 ///< if it names any: no engine has started this process
  Variables variables;                 ///< of this process
};

/// Finds this task's place, exchanges keys with the other tasks, and executes the program of its role in this process,
/// which the engine knows; the first process of a container stays, and executes the program in its child. With key
/// files it takes its place and its keys from them. Does not return. Throws ConfigError; std::runtime_error with the
/// reason (EngineError, ExchangeError, JobDirectoryError, ProofError, SpawnError).
[[noreturn]] void become_node(NodeCommandOptions options);

namespace detail {

/// Returns the directory in which each job step has one: `given`; or "troupe/jobs" in $XDG_CACHE_HOME or
/// $HOME/.cache. Throws EngineError without any of these.
[[nodiscard]] std::filesystem::path jobs_directory(const std::filesystem::path& given, const Variables& variables);

}  // namespace detail

}  // namespace troupe
