// Elementwise operations on three tensors; rules as in ops.h. All three broadcast. f16 and bf16 round the result once.
// A number as weight or value is used in the dtype of the computation, not rounded to that of the operands.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// a + weight * (b - a), exactly a for a weight of 0 and b for 1. Integers become f32.
[[nodiscard]] Tensor lerp(const Tensor& a, const Tensor& b, double weight);
[[nodiscard]] Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);

/// x + value * a * b. Integers stay integers; then value is an integer.
[[nodiscard]] Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1.0);
/// x + value * a / b; integers become f32.
[[nodiscard]] Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1.0);

}  // namespace troupe
