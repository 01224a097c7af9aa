// The floor of a tensor that is new in each call: memory that one process writes and another one reads.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::bench {

/// `pooled`: both processes have had the memory before. `fresh`: the system takes all of it back before each round.
/// `copied`: pooled; the writer has memory of its own, and copies it.
enum class Pages { pooled, fresh, copied };

/// Writes `floats` floats, a multiple of 64, into memory that a process of its own shares, which sums them, and returns
/// the times of `count` such rounds in microseconds. One thread works at a time. Throws std::system_error.
[[nodiscard]] std::vector<double> fresh_floor(std::size_t count, std::size_t floats, Pages pages);

}  // namespace troupe::bench
