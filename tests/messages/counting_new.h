// Counts and refuses what this executable allocates: its own operator new, and the memory of tensors.
#pragma once

#include <cstddef>

namespace troupe::testing {

/// Highest number of bytes that were live at once since the object was made, above what was live then.
/// One at a time; memory that other threads allocate counts too.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::size_t heap_before_;
  std::size_t tensors_before_;
};

/// Refuses one allocation by operator new of the thread that made the object, the `n`-th from then on, while it lives:
/// it throws std::bad_alloc. One per thread at a time.
class RefusedAllocation {
 public:
  /// REQUIRES: n > 0. Allocations below `bytes_min` are not counted.
  explicit RefusedAllocation(std::size_t n, std::size_t bytes_min = 0);
  ~RefusedAllocation();
  RefusedAllocation(const RefusedAllocation&) = delete;
  RefusedAllocation& operator=(const RefusedAllocation&) = delete;

  /// Whether there were as many.
  [[nodiscard]] bool happened() const;
};

}  // namespace troupe::testing
