// `troupe logs`: what the nodes of a running cluster have printed, from its launcher.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "node/control/cluster_report.h"
#include "node/control/status_command.h"

namespace troupe {

enum class Follow { no, yes };

struct LogsOptions {
  std::string node;        ///< empty: all, with their names in front. A cluster if no node has the name
  std::string cluster;     ///< see is_meant
  std::size_t lines = 50;  ///< the newest that are shown first
  Follow follow = Follow::no;
  ReportFormat format = ReportFormat::text;
  std::chrono::milliseconds patience{2000};  ///< with each launcher, besides the time in which it has no lines
};

/// Prints the newest lines, with `follow` also those to come, until the cluster ends. Returns the shell's exit status:
/// 0 if a launcher has answered. Throws std::system_error if standard output cannot be written.
[[nodiscard]] int show_logs(LogsOptions options);

namespace detail {

/// Lines of nodes as text. A plain class: one thread at a time.
class LogText {
 public:
  enum class Names { hidden, shown };
  explicit LogText(Names names) : names_(names) {}

  /// Returns the lines, with a line for each gap: what a node printed faster than it was read. Control characters do
  /// not reach the terminal.
  [[nodiscard]] std::string of(std::span<const LogLine> lines);

 private:
  Names names_;
  std::map<NodeName, std::uint64_t> next_;  ///< place of the next line of each node
};

/// Returns `text` without colours and other commands for terminals.
[[nodiscard]] std::string without_commands(std::string_view text);

}  // namespace detail

}  // namespace troupe
