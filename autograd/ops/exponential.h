// Exponential functions and logarithms of variables: tensor/ops/exponential.h with gradients.
#pragma once

#include "autograd/variable.h"

namespace troupe {

[[nodiscard]] Variable exp(const Variable& x);
[[nodiscard]] Variable expm1(const Variable& x);
[[nodiscard]] Variable exp2(const Variable& x);
[[nodiscard]] Variable log(const Variable& x);
[[nodiscard]] Variable log1p(const Variable& x);
[[nodiscard]] Variable log2(const Variable& x);
[[nodiscard]] Variable log10(const Variable& x);
/// The gradient is infinite at 0 and 1, and NaN beyond them.
[[nodiscard]] Variable logit(const Variable& x);
/// The gradient is 0 beyond the limits. At the limits it passes to x.
[[nodiscard]] Variable logit(const Variable& x, double eps);

/// The gradient is NaN where `a` and `b` are the same infinity.
[[nodiscard]] Variable logaddexp(const Variable& a, const Variable& b);
/// The gradient by `a` is 0 where `a` is 0 and `b` is not positive. The gradient by `b` is a / b, NaN where both are 0.
[[nodiscard]] Variable xlogy(const Variable& a, const Variable& b);
[[nodiscard]] Variable xlogy(const Variable& a, double b);
[[nodiscard]] Variable xlogy(double a, const Variable& b);

}  // namespace troupe
