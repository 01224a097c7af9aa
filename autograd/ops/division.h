// Quotients rounded down and what is left of a division, of variables: tensor/ops/division.h with gradients. A quotient
// is constant between its steps, gradient 0. A remainder has the gradient 1 by `a` and minus the whole quotient by `b`.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/division.h"

namespace troupe {

/// What is rounded has the gradient 0 everywhere.
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
