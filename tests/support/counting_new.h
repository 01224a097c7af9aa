// Counts and refuses allocations of this executable: its own operator new, and the memory of tensors.
#pragma once

#include <cstddef>

namespace troupe::testing {

/// The live bytes since the object was created, minus those live at that time: their highest number, and how many there
/// are. One object at a time. Allocations of all threads count.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] std::size_t bytes() const;
  /// Without the memory of tensors.
  [[nodiscard]] std::size_t live() const;

 private:
  std::size_t tensors_before_;  // first: their allocator is made here
  std::size_t heap_before_;
};

/// Refuses one allocation by operator new, or several in a row: the `n`-th of the creating thread during the object's
/// life throws std::bad_alloc. One object per thread at a time.
class RefusedAllocation {
 public:
  /// REQUIRES: n > 0. Allocations below `bytes_min` are not counted. `count` are refused.
  explicit RefusedAllocation(std::size_t n, std::size_t bytes_min = 0, std::size_t count = 1);
  ~RefusedAllocation();
  RefusedAllocation(const RefusedAllocation&) = delete;
  RefusedAllocation& operator=(const RefusedAllocation&) = delete;

  /// Returns whether the thread made `n` allocations.
  [[nodiscard]] bool happened() const;
};

}  // namespace troupe::testing
