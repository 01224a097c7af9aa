// Resource use of a process, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace troupe::testing {

struct ProcessUse {
  std::size_t virtual_bytes = 0;
  std::size_t resident_bytes = 0;
  std::size_t resident_bytes_max = 0;  ///< since its start
  std::size_t threads = 0;
  std::size_t descriptors = 0;
};

/// Throws std::runtime_error if there is no such process.
[[nodiscard]] ProcessUse process_use(pid_t process);

}  // namespace troupe::testing
