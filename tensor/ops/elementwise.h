// Promotion, broadcasting and kernel calls of elementwise operations. For the sources of this folder.
#pragma once

#include <string_view>

#include "tensor/kernels/elementwise.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the dtype of the result for operands of `dtype`: functions of reals convert integers to f32.
[[nodiscard]] DType result_dtype(kernels::UnaryOp op, DType dtype);
[[nodiscard]] DType result_dtype(kernels::BinaryOp op, DType dtype);

/// Throws TensorError `[name] tensor is undefined`, DTypeError `[name] not defined for boolean`.
[[nodiscard]] Tensor unary(std::string_view name, kernels::UnaryOp op, const Tensor& x);

/// Throws as `unary`; DeviceError `[name] devices differ: cpu and cuda:0`; ShapeError as broadcast_shapes().
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, const Tensor& a, const Tensor& b);

/// With a number, which the kernel converts to compute_dtype: 1e-8 does not become 0 beside an f16.
/// Throws DTypeError `[name] not a value of i64: 1.5`.
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, const Tensor& a, double b);
[[nodiscard]] Tensor binary(std::string_view name, kernels::BinaryOp op, double a, const Tensor& b);

/// As binary() of two tensors, without broadcasting: throws ShapeError `[name] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor binary_backward(std::string_view name, kernels::BinaryOp op, const Tensor& grad,
                                     const Tensor& saved);

}  // namespace troupe::detail
