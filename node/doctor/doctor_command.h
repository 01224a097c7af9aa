// `troupe doctor`: tries what `troupe up` needs on each host, and says what is missing.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "node/config/settings.h"

namespace troupe {

struct DoctorOptions {
  std::string target;                          ///< a cluster file, or a host that ssh reaches
  std::vector<std::string> overrides;          ///< of the file
  bool json = false;                           ///< print JSON instead of text
  std::chrono::milliseconds patience{10'000};  ///< with each host, at each step
  Variables variables;                         ///< of this process
  std::string version;                         ///< of this program
};

/// Examines all hosts and prints what was found. Starts no node and copies nothing. Returns the shell's exit status: 0
/// if there is no problem, 128 + signal if a signal ended it, otherwise 1. Throws ConfigError for a wrong file.
/// REQUIRES: as run_cluster.
[[nodiscard]] int run_doctor(const DoctorOptions& options);

}  // namespace troupe
