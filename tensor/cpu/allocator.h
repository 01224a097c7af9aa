// Memory for CPU tensors: freed blocks are kept by size and handed out again.
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

/// Hands out blocks aligned to 64 bytes. Below kLargeMin, sizes are rounded up to classes (multiples of 64 up to 1 KiB,
/// then four per power of two), and a freed block serves the next request of its class; larger ones are cut from
/// segments (large_blocks.h). Contents are uninitialised. Any thread may allocate and free; a block may be freed by
/// another thread than asked for it.
class CachingAllocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kLargeMin = std::size_t{1} << 20U;

  struct Statistics {
    std::size_t bytes_live = 0;    ///< handed out now, rounded up
    std::size_t bytes_cached = 0;  ///< kept for reuse: freed, or never used yet
    std::size_t system_calls = 0;  ///< requests that no kept block served
  };

  /// Keeps at most `cached_bytes_max` of freed memory; what exceeds it goes back to the system, of segments once all of
  /// one is free.
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
  /// Gives back the kept blocks that nobody has needed for `idle`, of segments once nothing of one was in use. To be
  /// called at least that often, by any number of threads, with the present time: what lies idle goes after one to two
  /// `idle`.
  void release_unused(std::chrono::steady_clock::time_point now, std::chrono::steady_clock::duration idle) noexcept;

  /// Returns the size of the blocks that serve requests of `size`, below kLargeMin.
  [[nodiscard]] static std::size_t rounded(std::size_t size) noexcept;

 private:
  static constexpr std::size_t kClasses = 64;

  struct FreeList {
    std::mutex mutex;
    std::vector<std::byte*> blocks;  ///< guarded by mutex; the end is used first
    std::size_t unused = 0;          ///< likewise: of the first blocks, how many were never taken in this period
  };

  [[nodiscard]] std::byte* allocate_large(std::size_t size);
  void deallocate_large(std::byte* block) noexcept;
  /// Gives segments back to the system until no more than `bytes_max` is kept, or none is free.
  void release_segments(std::size_t bytes_max) noexcept;

  /// Likewise small blocks, those at the begin of `list`, each of `size` bytes. Returns how many bytes.
  std::size_t release_first(FreeList& list, std::size_t count, std::size_t size) noexcept;

  [[nodiscard]] static std::size_t class_of(std::size_t rounded_size) noexcept;
  [[nodiscard]] static std::size_t size_of_class(std::size_t index) noexcept;

  std::size_t cached_bytes_max_;
  std::array<FreeList, kClasses> free_lists_;
  std::mutex large_mutex_;
  LargeBlocks large_;                                                  ///< guarded by large_mutex_
  std::optional<std::chrono::steady_clock::time_point> period_began_;  ///< likewise: since then uses are watched
  std::atomic<std::size_t> bytes_live_{0};
  std::atomic<std::size_t> bytes_cached_{0};
  std::atomic<std::size_t> system_calls_{0};
};

/// Returns the allocator of all CPU tensors of this process. It never goes away.
[[nodiscard]] CachingAllocator& cpu_allocator();

}  // namespace troupe
