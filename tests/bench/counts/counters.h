// The counters of interposer.cc: one page of a file that all processes of a measurement map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace troupe::bench {

struct Counters {
  std::atomic<std::uint64_t> mallocs{0};       ///< calls of malloc, calloc, realloc and their aligned forms
  std::atomic<std::uint64_t> bytes_copied{0};  ///< by memcpy and memmove of kLargeCopy and more, and by the kernel
};

/// The environment variable with the path of the file.
inline constexpr const char* kCountersVariable = "COUNTERS_FILE";

/// Smaller copies are not counted: headers and the like.
inline constexpr std::size_t kLargeCopy = std::size_t{64} << 10U;

}  // namespace troupe::bench
