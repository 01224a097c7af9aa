// `troupe status` and `troupe stack`: find what runs on this machine, ask it, print what it says.
#pragma once

#include <chrono>
#include <string>

#include "node/control/status_view.h"

namespace troupe {

/// How an answer is printed.
enum class ReportFormat { text, json };

struct StatusOptions {
  std::string cluster;  ///< see is_meant
  PeersShown peers = PeersShown::busiest;
  ReportFormat format = ReportFormat::text;
  std::chrono::milliseconds patience{2000};  ///< with each process
};

/// Prints all processes of the user's clusters. Returns the status for the shell: 0 if every process has answered.
[[nodiscard]] int show_status(const StatusOptions& options);

struct StackOptions {
  std::string node;
  std::string cluster;  ///< see is_meant
  ReportFormat format = ReportFormat::text;
  std::chrono::milliseconds patience{2000};
};

/// Prints what waits for what on one node. Returns the status for the shell: 0 if it has answered.
[[nodiscard]] int show_stack(const StackOptions& options);

}  // namespace troupe
