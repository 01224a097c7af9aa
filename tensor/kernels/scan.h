// Kernels of running results.
#pragma once

#include <cstdint>

#include "tensor/kernels/reduce.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

enum class Direction : std::uint8_t { forward, backward };

/// What a device implements for cumulative sums and products.
struct ScanKernels {
  /// out (outer, size, inner) = the sums of `x` (outer, size, inner) along the middle, from its beginning or its end
  /// on. Both contiguous, of one dtype: i64 (wraps around), f32 or f64 (sums run in f64).
  void (*cumsum)(Tensor& out, const Tensor& x, Direction direction);

  /// The same of products, from the beginning on; floating ones run in f64.
  void (*cumprod)(Tensor& out, const Tensor& x);

  /// out (outer, size, inner), i64 = where along the middle the largest (smallest) of the elements of `x` from the
  /// beginning on is: of equal ones the last; a NaN, once there is one. Both contiguous, `x` of a dtype that is
  /// computed in.
  void (*cumulative_argument)(Extreme extreme, Tensor& out, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ScanKernels scan_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ScanKernels scan_kernels;
}  // namespace troupe::cuda
