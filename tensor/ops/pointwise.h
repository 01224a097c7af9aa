// Two operands joined into a third, element by element; rules as in ops.h. All three broadcast. In 16 bits the result is
// rounded once. The weight of lerp and the value of the others have the digits of the arithmetic.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// a + weight * (b - a), exactly a for a weight of 0 and b for 1. Integers become f32.
[[nodiscard]] Tensor lerp(const Tensor& a, const Tensor& b, double weight);
[[nodiscard]] Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);

/// x + value * a * b; integers stay integers, and value is one.
[[nodiscard]] Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1.0);
/// x + value * a / b; integers become f32.
[[nodiscard]] Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1.0);

}  // namespace troupe
