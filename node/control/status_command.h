// `troupe status` and `troupe stack`: find the processes on this machine, query them, print their reports.
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

/// Prints all processes of the user's clusters. Returns the shell's exit status: 0 if every process has answered.
[[nodiscard]] int show_status(const StatusOptions& options);

struct StackOptions {
  std::string node;
  std::string cluster;  ///< see is_meant
  ReportFormat format = ReportFormat::text;
  std::chrono::milliseconds patience{2000};
};

/// Prints all waits on one node. Returns the shell's exit status: 0 if the node has answered.
[[nodiscard]] int show_stack(const StackOptions& options);

}  // namespace troupe
