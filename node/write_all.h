// Writes to a descriptor until nothing is left.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace troupe::detail {

/// Writes `bytes`, over interruptions by signals and in several parts if need be. Returns how many were written; if not
/// all, errno says why. A system that accepts no byte and names no error is an EIO.
[[nodiscard]] inline std::size_t write_most(int descriptor, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

/// As above. Returns whether all were written; if not, a part may have been.
[[nodiscard]] inline bool write_all(int descriptor, std::span<const std::byte> bytes) {
  return write_most(descriptor, bytes) == bytes.size();
}

}  // namespace troupe::detail
