// Elementwise operations with two or three operands: tensor/ops/pointwise.h with gradients.
#pragma once

#include "autograd/variable.h"

namespace troupe {

[[nodiscard]] Variable lerp(const Variable& a, const Variable& b, double weight);
[[nodiscard]] Variable lerp(const Variable& a, const Variable& b, const Variable& weight);
[[nodiscard]] Variable addcmul(const Variable& x, const Variable& a, const Variable& b, double value = 1.0);
[[nodiscard]] Variable addcdiv(const Variable& x, const Variable& a, const Variable& b, double value = 1.0);

}  // namespace troupe
