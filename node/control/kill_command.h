// `troupe kill`: sends a signal to one node of a running cluster, by way of its launcher.
#pragma once

#include <chrono>
#include <string>

namespace troupe {

struct KillOptions {
  std::string node;
  std::string cluster;                       ///< see is_meant
  std::string signal = "TERM";               ///< name, with or without SIG, or number
  std::chrono::milliseconds patience{2000};  ///< with each launcher
};

/// Sends the signal to the process of the node and to those that it has started, on whichever host it runs. Returns the
/// shell's exit status: 0 if the launcher has passed the signal on.
[[nodiscard]] int kill_node(const KillOptions& options);

namespace detail {

/// Returns the number of a signal: of "TERM", "SIGTERM", "term" or "15"; 0 if there is none.
[[nodiscard]] int signal_number(const std::string& text);

}  // namespace detail

}  // namespace troupe
