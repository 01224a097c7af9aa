// How operations that compute each element by itself promote, broadcast and call their kernels. For the sources of this
// folder.
#pragma once

#include <string_view>

#include "tensor/kernels/elementwise.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The dtype of the result for operands of `dtype`: functions of reals turn integers into f32.
[[nodiscard]] DType result_dtype(kernels::UnaryOp op, DType dtype);
[[nodiscard]] DType result_dtype(kernels::BinaryOp op, DType dtype);

/// Throws TensorError `[name] tensor is undefined`, DTypeError `[name] not defined for boolean`.
[[nodiscard]] Tensor unary(std::string_view name, kernels::UnaryOp op, const Tensor& x);

/// Throws as `unary`, and DeviceError and ShapeError as every operation on two tensors.
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, const Tensor& a, const Tensor& b);

/// With a number, which becomes one of compute_dtype: 1e-8 is not 0 beside an f16. Throws DTypeError `[name] not a value of
/// i64: 1.5`.
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, const Tensor& a, double b);
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, double a, const Tensor& b);

/// The same as binary() of two tensors, of equal shapes: throws ShapeError `[name] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor binary_backward(std::string_view name, kernels::BinaryOp op, const Tensor& grad, const Tensor& saved);

}  // namespace troupe::detail
