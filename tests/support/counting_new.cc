#include "tests/support/counting_new.h"

#include <malloc.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "tensor/cpu/allocator.h"

namespace {

std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

/// The refusal requested on this thread.
struct Refusal {
  std::size_t left = 0;   ///< allocations until the first refused one, which counts; 0: it was refused
  std::size_t count = 0;  ///< allocations still to be refused
  std::size_t bytes_min = 0;
};
thread_local Refusal refusal;

bool is_refused(std::size_t size) noexcept {
  if (refusal.count == 0 || size < refusal.bytes_min) return false;
  if (refusal.left > 0) --refusal.left;
  if (refusal.left > 0) return false;
  --refusal.count;
  return true;
}

void* allocate(std::size_t size) noexcept {
  if (is_refused(size)) return nullptr;
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) return nullptr;
  const std::size_t live = live_bytes += malloc_usable_size(block);
  std::size_t peak = peak_bytes.load();
  while (peak < live && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return block;
}

void* allocate_or_throw(std::size_t size) {
  void* block = allocate(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  live_bytes -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }

namespace troupe::testing {

PeakMemory::PeakMemory() : tensors_before_(cpu_allocator().statistics().bytes_live), heap_before_(live_bytes.load()) {
  peak_bytes = heap_before_;
}

std::size_t PeakMemory::bytes() const {
  // The decoded message is still alive here: the present sum of its tensors is their peak.
  const std::size_t tensors = cpu_allocator().statistics().bytes_live;
  return peak_bytes.load() - heap_before_ + (std::max(tensors, tensors_before_) - tensors_before_);
}

std::size_t PeakMemory::live() const { return std::max(live_bytes.load(), heap_before_) - heap_before_; }

RefusedAllocation::RefusedAllocation(std::size_t n, std::size_t bytes_min, std::size_t count) {
  refusal = {n, count, bytes_min};
}
RefusedAllocation::~RefusedAllocation() { refusal = {}; }
bool RefusedAllocation::happened() const { return refusal.left == 0; }

}  // namespace troupe::testing
