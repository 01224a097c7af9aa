// What another process writes for this one: read to its end, but not waited for without a limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace troupe::detail {

/// The time until a parent has written what its child inherits in a descriptor.
inline constexpr std::chrono::milliseconds kInheritedPatience{5'000};

/// Reads one descriptor, which it does not own.
class TimedReader {
 public:
  /// `limit` is for everything that is read, and begins now.
  TimedReader(int descriptor, std::chrono::milliseconds limit);

  /// Reads until `into` is full or the writer has ended. Returns the number of bytes. Throws std::invalid_argument,
  /// with a text that goes on after the name of what is read: "has no end within 5000 ms".
  [[nodiscard]] std::size_t read_up_to(std::span<std::byte> into);

 private:
  const int descriptor_;
  const std::chrono::milliseconds limit_;
  const std::chrono::steady_clock::time_point due_;
};

}  // namespace troupe::detail
