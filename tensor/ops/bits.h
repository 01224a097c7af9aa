// What is done with the bits of integers, and with booleans as one bit each; rules as in ops.h. Operands broadcast and promote.
// Throws DTypeError `[bitwise_and] not defined for f32`.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor bitwise_and(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_and(const Tensor& a, double b);
[[nodiscard]] Tensor bitwise_or(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_or(const Tensor& a, double b);
[[nodiscard]] Tensor bitwise_xor(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_xor(const Tensor& a, double b);
[[nodiscard]] Tensor bitwise_not(const Tensor& x);

// `a` moved by `b` places. A `b` below 0, or of all places and more, leaves nothing but the sign, and that to the right only.
// Booleans are a DTypeError `[bitwise_left_shift] not defined for boolean`.

[[nodiscard]] Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_left_shift(const Tensor& a, double b);
[[nodiscard]] Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_right_shift(const Tensor& a, double b);

}  // namespace troupe
