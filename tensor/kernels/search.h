// Kernel that searches values in sorted rows.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// The place of a value that equals elements of the row: before them or behind them.
enum class Side : std::uint8_t { left, right };

}  // namespace troupe

namespace troupe::kernels {

/// The search kernels of a device.
struct SearchKernels {
  /// out (rows, n), i64 = the place of each element of `values` (rows, n) in the ascending `sorted` (rows, m).
  /// REQUIRES: all are contiguous; `sorted` and `values` have one compute dtype (i32, i64, f32 or f64).
  void (*search)(Tensor& out, const Tensor& sorted, const Tensor& values, Side side);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::SearchKernels search_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::SearchKernels search_kernels;
}  // namespace troupe::cuda
