// Counts what this executable allocates: its own operator new, and the memory of tensors.
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

}  // namespace troupe::testing
