// Kernels that fold dimensions. On the CPU element k in row-major order is always folded into running result k mod 16,
// so results depend neither on layout nor on threads. Sums of floating elements run in f64, those of integers in 64
// bits; each is rounded or wrapped once, to the result.
//
// On a GPU the order of floating sums depends only on sizes and layout.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

enum class ReduceOp : std::uint8_t { sum, mean, prod, max, min };

/// True for each dimension that is folded.
using AxisSet = std::array<bool, kDimsMax>;

/// The element that argument_last looks for.
enum class Extreme : std::uint8_t { largest, smallest };

/// The reduction kernels of a device.
struct ReduceKernels {
  /// Folds `x` along `axes`. REQUIRES: `out` is contiguous, with the sizes of the other dimensions and the dtype of
  /// `x`, or i64 for sums and products of integers. `x` is floating for mean, and not empty along `axes` for max and
  /// min.
  void (*reduce)(ReduceOp op, Tensor& out, const Tensor& x, const AxisSet& axes);

  /// out = the index, along the last dimension, of the first largest or smallest element, or of the first NaN.
  /// REQUIRES: `out` is contiguous i64.
  void (*argument_last)(Extreme extreme, Tensor& out, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ReduceKernels reduce_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ReduceKernels reduce_kernels;
}  // namespace troupe::cuda
