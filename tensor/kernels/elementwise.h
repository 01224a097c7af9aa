// Kernels that compute each element from the elements at the same place. Operands have the shape of `out` (expanded
// views included) and any layout; `out` repeats no element and shares memory with an operand only if it is the same
// view. Dtypes are checked by the callers.
//
// On a GPU sums, differences, products, quotients and roots have the bits of the CPU's. Functions of reals are those of
// CUDA's mathematics library, at most 2 units in the last place off (pow 4).
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
/// Those called `..._backward` take the gradient by the output, and the input or output of the operation
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

/// Where the elements of an operand lie. The stride, 0 or 1, is in elements.
struct Stretch {
  const std::byte* data;
  std::int64_t stride;
};

/// What a device implements for functions of one element.
struct UnaryKernels {
  /// Dtypes of `out` and `x` are equal, not boolean; floating for exp and those after it.
  void (*unary)(UnaryOp op, Tensor& out, const Tensor& x);
};

/// What a device implements for functions of two elements.
struct BinaryKernels {
  /// Dtypes of all three are equal, or that of an operand is compute_dtype of them. Not boolean; floating for div and
  /// those after it, integers for those of bits. Integers wrap around; a divisor of integers is not 0.
  void (*binary_tensors)(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b);

  /// A number on one side: the same as a tensor of this one element of compute_dtype.
  void (*binary_number_right)(BinaryOp op, Tensor& out, const Tensor& a, double b);
  void (*binary_number_left)(BinaryOp op, Tensor& out, double a, const Tensor& b);

  void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) const { binary_tensors(op, out, a, b); }
  void binary(BinaryOp op, Tensor& out, const Tensor& a, double b) const { binary_number_right(op, out, a, b); }
  void binary(BinaryOp op, Tensor& out, double a, const Tensor& b) const { binary_number_left(op, out, a, b); }
};

/// For the CPU alone.
struct StretchKernels {
  /// binary() of `count` elements of `dtype`, one that is computed in.
  void (*binary)(BinaryOp op, DType dtype, std::byte* out, const Stretch& a, const Stretch& b, std::int64_t count);
};

/// What a device implements for choices between elements.
struct SelectKernels {
  /// `out` is boolean, `a` and `b` have one dtype.
  void (*compare)(CompareOp op, Tensor& out, const Tensor& a, const Tensor& b);

  /// `condition` is boolean, all others have one dtype.
  void (*select)(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);

  /// out = alpha * a + beta * b; all of one floating dtype.
  void (*axpby)(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b);
};

/// What a device implements for conversions between dtypes.
struct ConvertKernels {
  /// out = x, converted as Tensor::to says. Any layouts of one shape; `out` repeats no element and shares no memory.
  void (*convert)(Tensor& out, const Tensor& x);

  /// Every element of `out`, which is contiguous, becomes `value`, which is a value of its dtype.
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
