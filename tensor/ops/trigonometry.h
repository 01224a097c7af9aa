// Trigonometric and hyperbolic functions and their inverses, elementwise; rules as in ops.h. Angles are in radians.
// Integers become f32. Outside the domain of a function the result is NaN.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor sin(const Tensor& x);
[[nodiscard]] Tensor cos(const Tensor& x);
[[nodiscard]] Tensor tan(const Tensor& x);
/// Result from -pi/2 to pi/2; domain [-1, 1].
[[nodiscard]] Tensor asin(const Tensor& x);
/// Result from 0 to pi; domain [-1, 1].
[[nodiscard]] Tensor acos(const Tensor& x);
/// Result from -pi/2 to pi/2.
[[nodiscard]] Tensor atan(const Tensor& x);

[[nodiscard]] Tensor sinh(const Tensor& x);
[[nodiscard]] Tensor cosh(const Tensor& x);
[[nodiscard]] Tensor tanh(const Tensor& x);
[[nodiscard]] Tensor asinh(const Tensor& x);
/// Domain x >= 1.
[[nodiscard]] Tensor acosh(const Tensor& x);
/// Domain [-1, 1]; infinite at both ends.
[[nodiscard]] Tensor atanh(const Tensor& x);

/// The angle of the point with x = b and y = a, from -pi to pi. Broadcasts.
[[nodiscard]] Tensor atan2(const Tensor& a, const Tensor& b);
/// sqrt(a^2 + b^2), without overflow of the squares. Broadcasts.
[[nodiscard]] Tensor hypot(const Tensor& a, const Tensor& b);

}  // namespace troupe
