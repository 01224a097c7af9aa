// How operations that compute each element by itself promote, broadcast and call their kernels. For the sources of this
// folder.
#pragma once

#include <string_view>

#include "tensor/cpu/elementwise.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Throws TensorError `[name] tensor is undefined`, DTypeError `[name] not defined for boolean`.
[[nodiscard]] Tensor unary(std::string_view name, cpu::UnaryOp op, const Tensor& x);

/// Throws as `unary`, and DeviceError and ShapeError as every operation on two tensors.
[[nodiscard]] Tensor binary(std::string_view name, cpu::BinaryOp op, const Tensor& a, const Tensor& b);

/// The same, of equal shapes: throws ShapeError `[name] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor binary_backward(std::string_view name, cpu::BinaryOp op, const Tensor& grad, const Tensor& saved);

}  // namespace troupe::detail
