// Rounded quotients and remainders of variables: tensor/ops/division.h with gradients. A rounded quotient is piecewise
// constant: its gradient is 0. A remainder a - b * quotient has the gradient 1 by `a` and -quotient by `b`.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/division.h"

namespace troupe {

/// A rounded quotient has the gradient 0 everywhere.
[[nodiscard]] Variable div(const Variable& a, const Variable& b, Rounding rounding);
[[nodiscard]] Variable div(const Variable& a, double b, Rounding rounding);
[[nodiscard]] Variable floor_divide(const Variable& a, const Variable& b);
[[nodiscard]] Variable floor_divide(const Variable& a, double b);
[[nodiscard]] Variable fmod(const Variable& a, const Variable& b);
[[nodiscard]] Variable fmod(const Variable& a, double b);
[[nodiscard]] Variable remainder(const Variable& a, const Variable& b);
[[nodiscard]] Variable remainder(const Variable& a, double b);
[[nodiscard]] Variable remainder(double a, const Variable& b);

}  // namespace troupe
