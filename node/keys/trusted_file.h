// Reads and writes files with secrets; refuses a file that another user could have put there or can read.
//
// A file is trusted if it, and everything that its path goes through, belongs to this user or root and cannot be
// replaced by others: directories that others may write to must be sticky, as /tmp is. Symbolic links are followed
// under the same rule, which is what mounted Secrets of Kubernetes consist of.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "messages/error.h"
#include "node/keys/locked_bytes.h"

namespace troupe::detail {

/// Reads a trusted regular file that no other user can read; a file of root may be readable for one of this process's
/// groups. Errors: not_authorized, naming the path, the part of it that is exposed, and what to do; bad_argument (no
/// such file, no regular file, empty, more than `size_max` bytes).
[[nodiscard]] Result<LockedBytes> read_secret_file(const std::string& path, std::size_t size_max);

/// Reads a regular file that anybody may have written: its content proves itself. Errors: bad_argument, as above.
[[nodiscard]] Result<std::string> read_public_file(const std::string& path, std::size_t size_max);

/// Makes a file of mode 0600, all of it or none. Errors: bad_argument (it exists already, no such directory, ...).
[[nodiscard]] Result<Unit> write_secret_file(const std::string& path, std::span<const std::byte> bytes);

/// Returns the path of the file that `path` names, with symbolic links followed; the file need not exist. Errors:
/// bad_argument (links in a circle).
[[nodiscard]] Result<std::string> place_behind_links(const std::string& path);

/// Makes a file of mode 0644, or replaces it: readers see all of the former one or all of the new one. What a symbolic
/// link points to is replaced, not the link. Errors: bad_argument.
[[nodiscard]] Result<Unit> write_public_file(const std::string& path, std::string_view text);

/// Returns why an open file of this status may have been planted by another user, for a process that is about to write
/// to it: no regular file, of another user, or with another name, too. Empty if this user made it.
[[nodiscard]] std::string why_planted(const struct stat& status);

}  // namespace troupe::detail
