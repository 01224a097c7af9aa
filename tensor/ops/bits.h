// Bitwise operations on integers; a boolean is one bit. Rules as in ops.h: operands broadcast and promote.
// Throws DTypeError `[bitwise_and] not defined for f32`. Other than in arithmetic, a number joined with a boolean
// tensor is 0 or 1 and the result boolean; other numbers throw DTypeError `[bitwise_or] not a value of boolean: 2`.
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

// Shift `a` by `b` bits. If `b` is negative or at least the number of bits, a left shift gives 0 and a right shift the
// sign: 0 or -1. Throws DTypeError `[bitwise_left_shift] not defined for boolean`.

[[nodiscard]] Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_left_shift(const Tensor& a, double b);
[[nodiscard]] Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor bitwise_right_shift(const Tensor& a, double b);

}  // namespace troupe
