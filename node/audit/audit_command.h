// `troupe audit verify`: whether an audit log is whole.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// Checks the chain through `files`, the oldest first, and prints how many lines there are and the hash of the last;
/// the first broken line goes to standard error, as FILE:LINE. Returns the exit status: 1 if a line is broken, or a
/// file cannot be read.
[[nodiscard]] int verify_audit(const std::vector<std::string>& files);

}  // namespace troupe
