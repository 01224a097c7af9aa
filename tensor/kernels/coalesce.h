// Kernels of coalesce() of a sparse tensor: rows with equal numbers are summed. A GPU gives the same bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Distinct ascending numbers, and the sum of the rows with each number.
struct SummedRows {
  Tensor numbers;  ///< (m), i64
  Tensor rows;     ///< (m, width)
};

/// The coalesce kernels of a device.
struct CoalesceKernels {
  /// Returns the rows of `x` (n, width) summed by `numbers` (n). REQUIRES: `x` is contiguous and of a compute dtype;
  /// `numbers` are contiguous i64 in [0, limit). Rows of one number are summed in order from the first, whatever the
  /// number of threads. Time: n times the digits of `limit`. Waits for the GPU.
  SummedRows (*sum_by_number)(const Tensor& numbers, const Tensor& x, std::int64_t limit);

  /// Returns whether `numbers` (n), contiguous i64, are strictly ascending. Waits for the GPU.
  bool (*ascends)(const Tensor& numbers);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::CoalesceKernels coalesce_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::CoalesceKernels coalesce_kernels;
}  // namespace troupe::cuda
