// Reports as JSON, on control sockets and for `--json`. Keys are the fields' names; times are seconds; unknown values
// are null. Readers ignore unknown keys, so that programs of other versions can be queried.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "node/control/cluster_report.h"

namespace troupe {

/// A text is not an answer of the expected kind.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] std::string json_of(const NodeReport& report);
[[nodiscard]] std::string json_of(const StackReport& report);
[[nodiscard]] std::string json_of(const LaunchReport& report);

/// Returns {"error": "..."}: the answer of a process that cannot answer the question.
[[nodiscard]] std::string json_of_error(std::string_view why);

/// Each throws ReportError: the error in the format of `text`, or the error that it reports.
[[nodiscard]] NodeReport parse_node_report(std::string_view text);
[[nodiscard]] StackReport parse_stack_report(std::string_view text);
[[nodiscard]] std::string json_of(const LaunchedNode& node);
[[nodiscard]] LaunchedNode parse_launched_node(std::string_view text);
[[nodiscard]] LaunchReport parse_launch_report(std::string_view text);
[[nodiscard]] std::string json_of(const LogReport& report);
[[nodiscard]] LogReport parse_log_report(std::string_view text);

}  // namespace troupe
