// Findings as text and as JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "node/doctor/finding.h"

namespace troupe::detail {

/// Returns how many findings have this mark.
[[nodiscard]] std::size_t count_of(std::span<const HostFindings> hosts, Mark mark);

/// Returns a paragraph for each host, a line for each finding and for each hint, and a last line that sums up. Texts of
/// hosts are shown without control characters.
[[nodiscard]] std::string text_of(std::span<const HostFindings> hosts);

/// Returns {"hosts": [{"host", "findings": [{"mark", "check", "seen", "hint"}]}], "problems", "warnings"}.
[[nodiscard]] std::string json_of(std::span<const HostFindings> hosts);

}  // namespace troupe::detail
