// The floor of large messages over TCP: a process that returns what it reads, without a runtime.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::bench {

/// Sends `bytes` bytes, a multiple of 256 KiB, to a process of its own over a TCP connection of this host, which sends
/// them back, and returns the times of `count` such round trips in microseconds. With `encrypted`, records of 256 KiB
/// are encrypted with AES-256-GCM, and checked. Throws std::system_error.
[[nodiscard]] std::vector<double> stream_floor(std::size_t count, std::size_t bytes, bool encrypted);

}  // namespace troupe::bench
