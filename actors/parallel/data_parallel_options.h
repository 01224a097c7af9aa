// Options of data-parallel training.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

/// By what the sum of the members' gradients is divided.
enum class Divisor : std::uint8_t {
  members,  ///< the number of members of the group
  active,   ///< the number of members that had input: those that have joined do not count
};

/// How a DataParallel sums gradients. All members have the same.
struct DataParallelOptions {
  std::size_t bucket_bytes = std::size_t{25} << 20U;       ///< gradients summed in one operation
  std::size_t first_bucket_bytes = std::size_t{1} << 20U;  ///< of the first bucket: the first sum starts early
  bool broadcast_buffers = true;  ///< after each pass, buffers (running statistics) become those of the lowest rank
  Divisor divisor = Divisor::members;
};

}  // namespace troupe
