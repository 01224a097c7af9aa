// Memory for CPU tensors. Freed blocks are kept by size and reused.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "tensor/cpu/large_blocks.h"

namespace troupe {

/// Allocates blocks aligned to 64 bytes. Below kLargeMin, sizes are rounded up to classes (multiples of 64 up to 1 KiB,
/// then four per power of two), and a freed block serves the next request of its class. Larger blocks are cut from
/// segments (large_blocks.h). Contents are uninitialized. Thread-safe; a thread may free a block that another thread
/// allocated.
class CachingAllocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kLargeMin = std::size_t{1} << 20U;

  struct Statistics {
    std::size_t bytes_live = 0;    ///< allocated now, rounded up
    std::size_t bytes_cached = 0;  ///< kept for reuse: freed, or never used
    std::size_t system_calls = 0;  ///< requests that no kept block could serve
  };

  /// Keeps at most `cached_bytes_max` of freed memory and returns the rest to the system; segments only when all of a
  /// segment is free.
  explicit CachingAllocator(std::size_t cached_bytes_max = std::size_t{512} << 20U);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Returns at least `size` bytes, never null; a size of 0 counts as 1. Throws std::bad_alloc.
  [[nodiscard]] std::byte* allocate(std::size_t size);
  /// Frees a block that `allocate(size)` returned.
  void deallocate(std::byte* block, std::size_t size) noexcept;

  [[nodiscard]] Statistics statistics() const noexcept;
  /// Returns all kept blocks to the system; segments only when all of a segment is free.
  void release_cached() noexcept;
  /// Returns to the system the kept blocks unused for `idle`; segments only if no part was in use. That takes one to
  /// two `idle`. REQUIRES: called at least every `idle`, with the present time; any number of threads may call.
  void release_unused(std::chrono::steady_clock::time_point now, std::chrono::steady_clock::duration idle) noexcept;

  /// Returns the size of the blocks that serve requests of `size`, below kLargeMin.
  [[nodiscard]] static std::size_t rounded(std::size_t size) noexcept;

 private:
  static constexpr std::size_t kClasses = 64;

  struct FreeList {
    std::mutex mutex;
    std::vector<std::byte*> blocks;  ///< guarded by mutex; taken from the end
    std::size_t unused = 0;          ///< guarded by mutex; this many of the first blocks were not taken in this period
  };

  [[nodiscard]] std::byte* allocate_large(std::size_t size);
  void deallocate_large(std::byte* block) noexcept;
  /// Returns free segments to the system until at most `bytes_max` are kept or no segment is free. REQUIRES:
  /// large_mutex_ is locked.
  void release_segments(std::size_t bytes_max) noexcept;

  /// Releases the first `count` blocks of `list`, of `size` bytes each, to the system and returns their size in bytes.
  /// REQUIRES: list.mutex is locked.
  std::size_t release_first(FreeList& list, std::size_t count, std::size_t size) noexcept;

  [[nodiscard]] static std::size_t class_of(std::size_t rounded_size) noexcept;
  [[nodiscard]] static std::size_t size_of_class(std::size_t index) noexcept;

  std::size_t cached_bytes_max_;
  std::array<FreeList, kClasses> free_lists_;
  std::mutex large_mutex_;
  LargeBlocks large_;                                                  ///< guarded by large_mutex_
  std::optional<std::chrono::steady_clock::time_point> period_began_;  ///< this period's begin; guarded by large_mutex_
  std::atomic<std::size_t> bytes_live_{0};
  std::atomic<std::size_t> bytes_cached_{0};
  std::atomic<std::size_t> system_calls_{0};
};

/// Returns the allocator of all CPU tensors of this process. It is never destroyed.
[[nodiscard]] CachingAllocator& cpu_allocator();

}  // namespace troupe
