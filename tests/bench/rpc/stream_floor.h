// The floor of large messages over TCP: a process that returns what it reads, without a runtime.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::bench {

/// Sends `bytes` bytes to a child process of its own over a TCP connection of this host, which sends them back, and
/// returns the times of `count` such round trips in microseconds. Records of 256 KiB; with `encrypted`, each is
/// encrypted with AES-256-GCM, in place, and checked. Throws std::system_error.
[[nodiscard]] std::vector<double> stream_floor(std::size_t count, std::size_t bytes, bool encrypted);

}  // namespace troupe::bench
