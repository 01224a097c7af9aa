// `troupe audit verify`: whether audit logs are whole, and agree with what nodes have told each other.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// Checks the chain through each log of `files`, and what the logs say of each other. Files of one node follow each
/// other, the oldest first; a directory stands for the logs in it. Prints for each log how many lines it has, the hash
/// of the last, and which of them other nodes know. Each broken line goes to standard error, as FILE:LINE. Returns the
/// exit status: 1 if a line is broken or not what others were told of, or a file cannot be read.
[[nodiscard]] int verify_audit(const std::vector<std::string>& files);

}  // namespace troupe
