#include "tensor/cpu/allocator.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace troupe {
namespace {

constexpr std::size_t kSmallMax = 1024;
constexpr std::size_t kSmallClasses = kSmallMax / CachingAllocator::kAlignment;
/// From this many returned bytes on, malloc_trim() is worth its walk over malloc's lists.
constexpr std::size_t kTrimMin = std::size_t{1} << 20U;
constexpr std::size_t kSizeMax = std::size_t{1} << 62U;
/// Segments begin at multiples of this, so that huge pages hold all of a segment but its end.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

// AddressSanitizer treats kept blocks, and the bytes after the requested size, as freed memory.
void forbid([[maybe_unused]] const std::byte* begin, [[maybe_unused]] std::size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(begin, size);
#endif
}

void allow([[maybe_unused]] const std::byte* begin, [[maybe_unused]] std::size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(begin, size);
#endif
}

/// Returns null if the system has not so much memory.
std::byte* segment_of_system(std::size_t size) {
  void* segment = nullptr;
  if (posix_memalign(&segment, kHugePage, size) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  // Most systems give huge pages only where they are asked for. One that refuses gives small ones.
  static_cast<void>(madvise(segment, size, MADV_HUGEPAGE));
#endif
  return static_cast<std::byte*>(segment);
}

void return_to_system(std::byte* block, std::size_t size) {
  allow(block, size);
  std::free(block);
}

}  // namespace

CachingAllocator::CachingAllocator(std::size_t cached_bytes_max) : cached_bytes_max_(cached_bytes_max) {}

CachingAllocator::~CachingAllocator() { release_cached(); }

std::size_t CachingAllocator::rounded(std::size_t size) noexcept {
  if (size <= kSmallMax) return size == 0 ? kAlignment : (size + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;  // NOLINT(clang-analyzer-core.DivideZero): size is above kSmallMax
}

std::size_t CachingAllocator::class_of(std::size_t rounded_size) noexcept {
  if (rounded_size <= kSmallMax) return rounded_size / kAlignment - 1;
  const std::size_t power = std::bit_floor(rounded_size - 1);
  const std::size_t quarter =
      (rounded_size - power) / (power / 4) - 1;  // NOLINT(clang-analyzer-core.DivideZero): likewise
  const auto octave = static_cast<std::size_t>(std::countr_zero(power) - std::countr_zero(kSmallMax));
  return kSmallClasses + octave * 4 + quarter;
}

std::size_t CachingAllocator::size_of_class(std::size_t index) noexcept {
  if (index < kSmallClasses) return (index + 1) * kAlignment;
  const std::size_t octave = (index - kSmallClasses) / 4;
  const std::size_t quarter = (index - kSmallClasses) % 4;
  return (kSmallMax << octave) / 4 * (5 + quarter);
}

std::byte* CachingAllocator::allocate(std::size_t size) {
  if (size > kSizeMax) throw std::bad_alloc();
  if (size >= kLargeMin) return allocate_large(size);
  const std::size_t bytes = rounded(size);
  FreeList& list = free_lists_[class_of(bytes)];
  std::byte* block = nullptr;
  {
    const std::lock_guard lock(list.mutex);
    if (!list.blocks.empty()) {
      block = list.blocks.back();
      list.blocks.pop_back();
      list.unused = std::min(list.unused, list.blocks.size());
      bytes_cached_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }
  if (block == nullptr) {
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
    if (block == nullptr) {
      release_cached();
      block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
    }
    if (block == nullptr) throw std::bad_alloc();
  }
  bytes_live_.fetch_add(bytes, std::memory_order_relaxed);
  forbid(block, bytes);
  allow(block, size);
  return block;
}

std::byte* CachingAllocator::allocate_large(std::size_t size) {
  const std::lock_guard lock(large_mutex_);
  std::optional<LargeBlocks::Segment> block = large_.take(size);
  if (!block) {
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t bytes = LargeBlocks::segment_size(size);
    std::byte* segment = segment_of_system(bytes);
    if (segment == nullptr) {
      release_segments(0);
      segment = segment_of_system(bytes);
    }
    if (segment == nullptr) throw std::bad_alloc();
    forbid(segment, bytes);
    try {
      large_.add({segment, bytes});
    } catch (...) {
      return_to_system(segment, bytes);
      throw;
    }
    bytes_cached_.fetch_add(bytes, std::memory_order_relaxed);
    block = large_.take(size);
  }
  bytes_cached_.fetch_sub(block->size, std::memory_order_relaxed);
  bytes_live_.fetch_add(block->size, std::memory_order_relaxed);
  allow(block->begin, size);
  return block->begin;
}

void CachingAllocator::deallocate_large(std::byte* block) noexcept {
  const std::lock_guard lock(large_mutex_);
  const std::size_t bytes = large_.give(block);
  forbid(block, bytes);
  bytes_live_.fetch_sub(bytes, std::memory_order_relaxed);
  if (bytes_cached_.fetch_add(bytes, std::memory_order_relaxed) + bytes > cached_bytes_max_)
    release_segments(cached_bytes_max_);
}

void CachingAllocator::release_segments(std::size_t bytes_max) noexcept {
  while (bytes_cached_.load(std::memory_order_relaxed) > bytes_max) {
    const auto segment = large_.remove_free();
    if (!segment) return;
    bytes_cached_.fetch_sub(segment->size, std::memory_order_relaxed);
    return_to_system(segment->begin, segment->size);
  }
}

void CachingAllocator::deallocate(std::byte* block, std::size_t size) noexcept {
  if (size >= kLargeMin) return deallocate_large(block);
  const std::size_t bytes = rounded(size);
  bytes_live_.fetch_sub(bytes, std::memory_order_relaxed);
  if (bytes_cached_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= cached_bytes_max_) {
    forbid(block, bytes);
    FreeList& list = free_lists_[class_of(bytes)];
    try {
      const std::lock_guard lock(list.mutex);
      list.blocks.push_back(block);
      return;
    } catch (const std::bad_alloc&) {
      // No memory for the list entry: return the block to the system.
    }
  }
  bytes_cached_.fetch_sub(bytes, std::memory_order_relaxed);
  return_to_system(block, bytes);
}

CachingAllocator::Statistics CachingAllocator::statistics() const noexcept {
  return {bytes_live_.load(std::memory_order_relaxed), bytes_cached_.load(std::memory_order_relaxed),
          system_calls_.load(std::memory_order_relaxed)};
}

void CachingAllocator::release_cached() noexcept {
  {
    const std::lock_guard lock(large_mutex_);
    release_segments(0);
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    FreeList& list = free_lists_[i];
    const std::lock_guard lock(list.mutex);
    release_first(list, list.blocks.size(), size_of_class(i));
  }
}

void CachingAllocator::release_unused(std::chrono::steady_clock::time_point now,
                                      std::chrono::steady_clock::duration idle) noexcept {
  std::vector<LargeBlocks::Segment> segments;
  {
    const std::lock_guard lock(large_mutex_);
    if (!period_began_) period_began_ = now;
    if (now - *period_began_ < idle) return;
    period_began_ = now;
    try {
      segments = large_.remove_unused();
    } catch (const std::bad_alloc&) {
      // The segments stay until the next call.
    }
    for (const auto& segment : segments) bytes_cached_.fetch_sub(segment.size, std::memory_order_relaxed);
  }
  std::size_t released = 0;
  for (const auto& segment : segments) {
    return_to_system(segment.begin, segment.size);
    released += segment.size;
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    FreeList& list = free_lists_[i];
    const std::lock_guard lock(list.mutex);
    released += release_first(list, list.unused, size_of_class(i));
    list.unused = list.blocks.size();
  }
  // Freed small blocks, and received pieces of large ones, lie between used memory. malloc keeps them until told
  // otherwise.
  if (released >= kTrimMin) malloc_trim(0);
}

std::size_t CachingAllocator::release_first(FreeList& list, std::size_t count, std::size_t size) noexcept {
  const auto end = list.blocks.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto block = list.blocks.begin(); block != end; ++block) return_to_system(*block, size);
  list.blocks.erase(list.blocks.begin(), end);
  list.unused = std::min(list.unused, list.blocks.size());
  bytes_cached_.fetch_sub(count * size, std::memory_order_relaxed);
  return count * size;
}

CachingAllocator& cpu_allocator() {
  // Never destroyed: tensors in static variables may be freed after all our statics.
  static CachingAllocator& allocator = *std::make_unique<CachingAllocator>().release();
  return allocator;
}

}  // namespace troupe
