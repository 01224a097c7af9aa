// The floor of sums of large tensors: a loop over two arrays, without tensors, allocations and a runtime.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::bench {

/// Adds 1 to each of `floats` floats `times` times, from one of two arrays into the other and back, and returns the
/// times of `count` such rounds in microseconds. One thread; the widest instructions that Troupe's kernels use.
[[nodiscard]] std::vector<double> adds_floor(std::size_t count, std::size_t times, std::size_t floats);

}  // namespace troupe::bench
