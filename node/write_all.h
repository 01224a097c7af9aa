// Writes to a descriptor until nothing is left.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace troupe::detail {

/// Writes `bytes`, over interruptions by signals and in several parts if need be. Returns whether all were written; if
/// not, errno says why, and a part may have been. A system that accepts no byte and names no error is an EIO.
[[nodiscard]] inline bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace troupe::detail
