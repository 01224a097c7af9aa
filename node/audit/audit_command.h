// `troupe audit verify`: whether audit logs are whole, and agree with what nodes have told each other.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// Checks the chain through each log of `files`, and what the logs say of each other. Files of one node follow each
/// other, the oldest first; a directory stands for the logs NAME.audit in it, which must be those of NAME. Nodes may
/// run meanwhile. Prints for each log how many lines it has, the hash of the last, and up to which line others know it.
/// Each broken line goes to standard error, as FILE:LINE. Returns the exit status: 1 if a line is broken or not what
/// others were told of, or a file cannot be read; else 2 if of several logs one is missing that others know of.
[[nodiscard]] int verify_audit(const std::vector<std::string>& files);

}  // namespace troupe
