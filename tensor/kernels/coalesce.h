// Rows under the same number brought together and summed: what coalesce() of a sparse tensor does. A GPU gives the same
// bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Numbers that ascend, none twice, and the sum of the rows of each.
struct SummedRows {
  Tensor numbers;  ///< (m), i64
  Tensor rows;     ///< (m, width)
};

/// What a device implements for sparse rows that add up.
struct CoalesceKernels {
  /// The rows of `x` (n, width), contiguous, of a dtype that is computed in, summed by `numbers` (n): contiguous i64 in
  /// [0, limit). The rows of a number are summed one after the other from the first on, which no number of threads
  /// changes. Time: n times the digits of `limit`. Waits for the GPU.
  SummedRows (*sum_by_number)(const Tensor& numbers, const Tensor& x, std::int64_t limit);

  /// Whether each of `numbers` (n), contiguous i64, is above the one before. Waits for the GPU.
  bool (*ascends)(const Tensor& numbers);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::CoalesceKernels coalesce_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::CoalesceKernels coalesce_kernels;
}  // namespace troupe::cuda
