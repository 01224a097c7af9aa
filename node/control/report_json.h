// What processes say of themselves, as JSON: on control sockets and for `--json`. Keys are the fields' names; times are
// seconds; what is not known is null. Readers ignore keys that they do not know, so that programs of other versions can be
// asked.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "node/control/cluster_report.h"

namespace troupe {

/// Some text is no answer of the expected kind.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] std::string json_of(const NodeReport& report);
[[nodiscard]] std::string json_of(const StackReport& report);
[[nodiscard]] std::string json_of(const LaunchReport& report);

/// {"error": "..."}: the answer of a process that cannot say what was asked.
[[nodiscard]] std::string json_of_error(std::string_view why);

/// Each throws ReportError: what is wrong with `text`, or the error that it holds.
[[nodiscard]] NodeReport parse_node_report(std::string_view text);
[[nodiscard]] StackReport parse_stack_report(std::string_view text);
[[nodiscard]] LaunchReport parse_launch_report(std::string_view text);

}  // namespace troupe
