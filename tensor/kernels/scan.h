// Kernels of cumulative results.
#pragma once

#include <cstdint>

#include "tensor/kernels/reduce.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

enum class Direction : std::uint8_t { forward, backward };

/// The scan kernels of a device.
struct ScanKernels {
  /// out (outer, size, inner) = the cumulative sums of `x` (outer, size, inner) along the middle dimension, from its
  /// beginning or its end. REQUIRES: both are contiguous, of one dtype: i64 (wraps around), f32 or f64 (summed in f64).
  void (*cumsum)(Tensor& out, const Tensor& x, Direction direction);

  /// The same with products, from the beginning; floating products run in f64.
  void (*cumprod)(Tensor& out, const Tensor& x);

  /// out (outer, size, inner), i64 = the position, along the middle dimension, of the largest (smallest) element of `x`
  /// so far: the last of equal ones; after a NaN, the last NaN. REQUIRES: both are contiguous; `x` has a compute dtype
  /// (i32, i64, f32 or f64).
  void (*cumulative_argument)(Extreme extreme, Tensor& out, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ScanKernels scan_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ScanKernels scan_kernels;
}  // namespace troupe::cuda
