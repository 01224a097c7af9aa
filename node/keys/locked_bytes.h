// Memory for secrets.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace troupe {

/// A block with guard pages around it, kept out of swap and core dumps, zeroed when it is freed. It cannot be copied,
/// compared or printed.
class LockedBytes {
 public:
  /// Throws std::bad_alloc; std::runtime_error if libsodium cannot start.
  explicit LockedBytes(std::size_t size);

  LockedBytes(LockedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  LockedBytes& operator=(LockedBytes&&) = delete;
  ~LockedBytes();

  [[nodiscard]] std::span<std::byte> bytes() { return {data_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace troupe
