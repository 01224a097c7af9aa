// Piecewise activations. REQUIRES: all tensors are contiguous and of one dtype, f32 or f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// leaky_relu, elu, celu and selu are x above 0; below 0 they are factor * x, factor * (exp(x) - 1), factor * (exp(x /
/// factor) - 1), and a multiple of elu. The shrinks return 0 in [-factor, factor]; outside, hardshrink returns x, and
/// softshrink moves x towards 0 by factor. The hard ones change pieces at -3 and 3.
enum class PiecewiseOp : std::uint8_t { leaky_relu, elu, celu, selu, softshrink, hardshrink, hardsigmoid, hardswish };

/// f(x) = above * x if x > 0, else below * (exp(inner * x) - 1), whose derivative is slope * exp(inner * x).
struct ExponentialPieces {
  double above, below, inner, slope;
};

/// Returns the pieces of elu, celu or selu.
[[nodiscard]] constexpr ExponentialPieces exponential_pieces(PiecewiseOp op, double factor) {
  constexpr double kScale = 1.0507009873554804934193349852946;  // the fixed point of mean 0 and variance 1
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  if (op == PiecewiseOp::celu) return {1.0, factor, 1.0 / factor, 1.0};
  if (op == PiecewiseOp::selu) return {kScale, kScale * kAlpha, 1.0, kScale * kAlpha};
  return {1.0, factor, 1.0, factor};
}

/// The kernels of a device for piecewise activations.
struct PiecewiseKernels {
  void (*piecewise)(PiecewiseOp op, Tensor& out, const Tensor& x, double factor);

  /// out = g times the derivative at x.
  void (*piecewise_backward)(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor);

  /// out = g where low < x < high or x is NaN, else 0.
  void (*between)(Tensor& out, const Tensor& g, const Tensor& x, double low, double high);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::PiecewiseKernels piecewise_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::PiecewiseKernels piecewise_kernels;
}  // namespace troupe::cuda
