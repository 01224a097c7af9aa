// Kernels that fold dimensions. Elements are taken in row-major order into four running results, element k into the
// (k mod 4)th: so the result depends neither on layout nor on threads. Floating sums run in f64, of integers
// in i64, and are rounded to the result once.
//
// On a GPU the order of floating sums follows from sizes and layout.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

enum class ReduceOp : std::uint8_t { sum, mean, prod, max, min };

/// Which dimensions are folded.
using AxisSet = std::array<bool, kDimsMax>;

/// Which end of the order argument_last looks for.
enum class Extreme : std::uint8_t { largest, smallest };

/// What a device implements for reductions.
struct ReduceKernels {
  /// `out` is contiguous and has the sizes of the dimensions that stay. Its dtype is that of `x`, for sums and products
  /// of integers i64. Floating for mean; not empty along `axes` for max and min.
  void (*reduce)(ReduceOp op, Tensor& out, const Tensor& x, const AxisSet& axes);

  /// Index of the first such element along the last dimension, or of the first NaN. `out` is contiguous i64.
  void (*argument_last)(Extreme extreme, Tensor& out, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ReduceKernels reduce_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ReduceKernels reduce_kernels;
}  // namespace troupe::cuda
