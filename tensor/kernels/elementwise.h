// Kernels that compute each element from the elements at the same place. REQUIRES: operands have the shape of `out`
// (expanded views included) and any layout; `out` repeats no element, and shares memory with an operand only if both
// are the same view. The callers check dtypes.
//
// On a GPU, sums, differences, products, quotients and roots have the bits of the CPU. Other functions of reals come
// from CUDA's mathematics library; their error is at most 2 units in the last place (pow: 4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

// clang-format off
enum class UnaryOp : std::uint8_t {
  neg, abs, sign, relu, floor, ceil, round, trunc,
  exp, expm1, exp2, log, log1p, log2, log10, logit, sqrt, rsqrt, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
  asinh, acosh, atanh,
  erf, erfc, sigmoid, gelu, gelu_tanh, silu, mish, softplus
};
// clang-format on
/// Functions of two elements. `..._backward` take the gradient by the output, and the input or output of the operation
/// (ops/activation.h).
// clang-format off
enum class BinaryOp : std::uint8_t {
  add, sub, mul, maximum, minimum, fmod, remainder, floor_divide,
  bit_and, bit_or, bit_xor, left_shift, right_shift,
  div, copysign, pow, atan2, hypot, logaddexp, xlogy,
  relu_backward, tanh_backward, sigmoid_backward, gelu_backward, gelu_tanh_backward, silu_backward, mish_backward,
  softplus_backward
};
// clang-format on
enum class CompareOp : std::uint8_t { eq, ne, lt, le };

/// The elements of an operand. The stride, 0 or 1, is in elements. Does not own `data`.
struct Stretch {
  const std::byte* data;
  std::int64_t stride;
};

/// The kernels of a device for functions of one element.
struct UnaryKernels {
  /// REQUIRES: `out` and `x` have one dtype, not boolean; it is floating for exp and all later operations.
  void (*unary)(UnaryOp op, Tensor& out, const Tensor& x);
};

/// The kernels of a device for functions of two elements.
struct BinaryKernels {
  /// REQUIRES: all three have one dtype, or an operand has its compute_dtype. It is not boolean; floating for div and
  /// all later operations, integer for those of bits. Integers wrap around. No integer divisor is 0.
  void (*binary_tensors)(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b);

  /// The same with a number as one operand: as a tensor of this element with the compute_dtype.
  void (*binary_number_right)(BinaryOp op, Tensor& out, const Tensor& a, double b);
  void (*binary_number_left)(BinaryOp op, Tensor& out, double a, const Tensor& b);

  void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) const { binary_tensors(op, out, a, b); }
  void binary(BinaryOp op, Tensor& out, const Tensor& a, double b) const { binary_number_right(op, out, a, b); }
  void binary(BinaryOp op, Tensor& out, double a, const Tensor& b) const { binary_number_left(op, out, a, b); }
};

/// CPU only.
struct StretchKernels {
  /// Computes binary() on `count` elements of `dtype`, a compute dtype.
  void (*binary)(BinaryOp op, DType dtype, std::byte* out, const Stretch& a, const Stretch& b, std::int64_t count);
};

/// The kernels of a device for comparisons and selections.
struct SelectKernels {
  /// REQUIRES: `out` is boolean; `a` and `b` have one dtype.
  void (*compare)(CompareOp op, Tensor& out, const Tensor& a, const Tensor& b);

  /// out = condition ? a : b. REQUIRES: `condition` is boolean; all others have one dtype.
  void (*select)(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);

  /// out = alpha * a + beta * b. REQUIRES: all have one floating dtype.
  void (*axpby)(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b);
};

/// The kernels of a device for conversions between dtypes.
struct ConvertKernels {
  /// out = x, converted as by Tensor::to. REQUIRES: one shape, any layouts; `out` repeats no element and shares no
  /// memory with `x`.
  void (*convert)(Tensor& out, const Tensor& x);

  /// Sets every element of `out` to `value`. REQUIRES: `out` is contiguous, and its dtype can represent `value`.
  void (*fill)(Tensor& out, double value);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::UnaryKernels unary_kernels;
extern const kernels::BinaryKernels binary_kernels;
extern const kernels::StretchKernels stretch_kernels;
extern const kernels::SelectKernels select_kernels;
extern const kernels::ConvertKernels convert_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::UnaryKernels unary_kernels;
extern const kernels::BinaryKernels binary_kernels;
extern const kernels::SelectKernels select_kernels;
extern const kernels::ConvertKernels convert_kernels;
}  // namespace troupe::cuda
