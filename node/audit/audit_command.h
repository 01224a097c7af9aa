// `troupe audit verify`: whether audit logs are whole, and agree with what nodes have told each other.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// Checks the chain through each log of `files`, and compares each log with the heads of it that other logs recorded.
/// Files of one node follow each other, the oldest first; a directory stands for the logs NAME.audit in it, and NAME
/// must be the node of the log. Nodes may run meanwhile. Prints for each log how many lines it has, the hash of the
/// last, and up to which line others confirm it. Prints each broken line to standard error, as FILE:LINE. Returns the
/// exit status: 1 if a line is broken or is not the one that another log recorded, or a file cannot be read; else 2 if
/// several logs were given and one that they know of is missing.
[[nodiscard]] int verify_audit(const std::vector<std::string>& files);

}  // namespace troupe
