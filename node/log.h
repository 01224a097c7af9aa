// Where a process's log goes. The runtime logs through spdlog's default logger: a program that embeds a node and has a
// logger of its own makes that the default one and has nothing to do with this.
#pragma once

#include <string_view>

namespace troupe {

/// Sends this process's log to standard error, from `level` on: "trace", "debug", "info", "warn", "error" or "off".
/// Standard output stays the program's own. Call before other threads log.
void log_to_stderr(std::string_view level);

/// The same, but only if the default logger is still the one that spdlog begins with, which writes to standard output.
void keep_log_off_stdout();

}  // namespace troupe
