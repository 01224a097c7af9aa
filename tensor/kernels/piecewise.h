// Activations that are one function here and another there. All tensors are contiguous and of one dtype, f32 or f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The first four turn at 0. Beyond it x, below it factor * x, factor * (exp(x) - 1), factor * (exp(x / factor) - 1);
/// selu is a multiple of elu. The shrinks leave nothing between -factor and factor, and the soft one brings the rest
/// closer to 0 by it. The hard ones turn at -3 and 3.
enum class PiecewiseOp : std::uint8_t { leaky_relu, elu, celu, selu, softshrink, hardshrink, hardsigmoid, hardswish };

/// above * x where x is above 0, else below * (exp(inner * x) - 1), whose slope is `slope` * exp(inner * x).
struct ExponentialPieces {
  double above, below, inner, slope;
};

/// Of elu, celu and selu.
[[nodiscard]] constexpr ExponentialPieces exponential_pieces(PiecewiseOp op, double factor) {
  constexpr double kScale = 1.0507009873554804934193349852946;  // the fixed point of mean 0 and variance 1
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  if (op == PiecewiseOp::celu) return {1.0, factor, 1.0 / factor, 1.0};
  if (op == PiecewiseOp::selu) return {kScale, kScale * kAlpha, 1.0, kScale * kAlpha};
  return {1.0, factor, 1.0, factor};
}

/// What a device implements for activations in pieces.
struct PiecewiseKernels {
  void (*piecewise)(PiecewiseOp op, Tensor& out, const Tensor& x, double factor);

  /// out = g times the slope at x.
  void (*piecewise_backward)(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor);

  /// out = g where low < x < high or x is not a number, else 0.
  void (*between)(Tensor& out, const Tensor& g, const Tensor& x, double low, double high);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::PiecewiseKernels piecewise_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::PiecewiseKernels piecewise_kernels;
}  // namespace troupe::cuda
