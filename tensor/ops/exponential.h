// Exponential functions and logarithms of elements; rules as in ops.h. Integers become f32. The logarithm of 0 is
// -infinity, that of a negative number NaN.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor exp(const Tensor& x);
/// exp(x) - 1 and log(1 + x), exact also near 0.
[[nodiscard]] Tensor expm1(const Tensor& x);
[[nodiscard]] Tensor log1p(const Tensor& x);
/// 2 raised to x.
[[nodiscard]] Tensor exp2(const Tensor& x);
[[nodiscard]] Tensor log(const Tensor& x);
[[nodiscard]] Tensor log2(const Tensor& x);
[[nodiscard]] Tensor log10(const Tensor& x);
/// log(x / (1 - x)), the inverse of sigmoid: infinite at 0 and 1, NaN outside [0, 1].
[[nodiscard]] Tensor logit(const Tensor& x);
/// logit of x limited to [eps, 1 - eps]. Throws ValueError `[logit] eps not from 0 to 0.5: 0.7`.
[[nodiscard]] Tensor logit(const Tensor& x, double eps);

/// log(exp(a) + exp(b)), without overflow.
[[nodiscard]] Tensor logaddexp(const Tensor& a, const Tensor& b);
/// a log(b), and 0 where a is 0 unless b is NaN.
[[nodiscard]] Tensor xlogy(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor xlogy(const Tensor& a, double b);
[[nodiscard]] Tensor xlogy(double a, const Tensor& b);

}  // namespace troupe
