// Memory for CPU tensors: freed blocks are kept by size and handed out again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace troupe {

/// Hands out blocks aligned to 64 bytes. Sizes are rounded up to classes (multiples of 64 up to 1 KiB, then four per
/// power of two), a freed block serves the next request of its class. Contents are uninitialised. Any thread may
/// allocate and free; a block may be freed by another thread than asked for it.
class CachingAllocator {
 public:
  static constexpr std::size_t kAlignment = 64;

  struct Statistics {
    std::size_t bytes_live = 0;    ///< handed out now, rounded up to classes
    std::size_t bytes_cached = 0;  ///< freed, kept for reuse
    std::size_t system_calls = 0;  ///< requests that no kept block served
  };

  /// Keeps at most `cached_bytes_max` of freed memory; what exceeds it goes back to the system.
  explicit CachingAllocator(std::size_t cached_bytes_max = std::size_t{512} << 20U);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Returns at least `size` bytes; never null, a size of 0 counts as 1. Throws std::bad_alloc.
  [[nodiscard]] std::byte* allocate(std::size_t size);
  /// Takes back a block that `allocate(size)` returned.
  void deallocate(std::byte* block, std::size_t size) noexcept;

  [[nodiscard]] Statistics statistics() const noexcept;
  /// Gives all kept blocks back to the system.
  void release_cached() noexcept;

  /// Returns the size of the blocks that serve requests of `size`.
  [[nodiscard]] static std::size_t rounded(std::size_t size) noexcept;

 private:
  static constexpr std::size_t kClasses = 256;

  struct FreeList {
    std::mutex mutex;
    std::vector<std::byte*> blocks;
  };

  [[nodiscard]] static std::size_t class_of(std::size_t rounded_size) noexcept;

  std::size_t cached_bytes_max_;
  std::array<FreeList, kClasses> free_lists_;
  std::atomic<std::size_t> bytes_live_{0};
  std::atomic<std::size_t> bytes_cached_{0};
  std::atomic<std::size_t> system_calls_{0};
};

/// Returns the allocator of all CPU tensors of this process. It never goes away.
[[nodiscard]] CachingAllocator& cpu_allocator();

}  // namespace troupe
