// Trigonometric and hyperbolic functions and their inverses: tensor/ops/trigonometry.h with gradients. At the end of an
// inverse's domain, as asin at -1 and 1, the gradient is infinite; beyond it is NaN, except 1 / (1 - x^2) for atanh.
#pragma once

#include "autograd/variable.h"

namespace troupe {

[[nodiscard]] Variable sin(const Variable& x);
[[nodiscard]] Variable cos(const Variable& x);
[[nodiscard]] Variable tan(const Variable& x);
[[nodiscard]] Variable asin(const Variable& x);
[[nodiscard]] Variable acos(const Variable& x);
[[nodiscard]] Variable atan(const Variable& x);
[[nodiscard]] Variable sinh(const Variable& x);
[[nodiscard]] Variable cosh(const Variable& x);
[[nodiscard]] Variable tanh(const Variable& x);
[[nodiscard]] Variable asinh(const Variable& x);
[[nodiscard]] Variable acosh(const Variable& x);
[[nodiscard]] Variable atanh(const Variable& x);

/// The gradient at the origin is NaN for both operands.
[[nodiscard]] Variable atan2(const Variable& a, const Variable& b);
[[nodiscard]] Variable hypot(const Variable& a, const Variable& b);

}  // namespace troupe
