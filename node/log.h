// The destination of a process's log. The runtime logs through spdlog's default logger: a program with a logger of its
// own makes that the default one and needs nothing from this file; nodes that join, with any options, leave it alone.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

namespace detail {

/// Returns `text` as the log shows it: names and messages of peers are in it, and must not forge entries or command the
/// terminal. What follows a newline is indented, other control characters are written as "\x1b". Beyond 16 KiB it is
/// cut and says so.
[[nodiscard]] std::string entry_text(std::string_view text);

}  // namespace detail

/// Sends this process's log to standard error, from `level` on: "trace", "debug", "info", "warn", "error" or "off".
/// Standard output stays the program's own. The logger that did so before is not freed. REQUIRES: no other thread logs
/// yet, unless the log goes there already: then only the level changes. Throws std::invalid_argument for another word.
void log_to_stderr(std::string_view level);

/// As above, but leaves a default logger that the program made: it replaces only spdlog's initial logger, which writes
/// to standard output, or that of an earlier call. An empty `level` changes no level; the first one is "info". Nodes
/// call this when they join.
/// Throws std::invalid_argument for any other word, in a program with a logger of its own too.
void keep_log_off_stdout(std::string_view level = {});

}  // namespace troupe
