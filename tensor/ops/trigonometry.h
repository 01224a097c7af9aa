// Functions of angles, hyperbolic functions and their inverses, of elements; rules as in ops.h. Angles are radians. Integers
// become f32. Where a function has no real value the result is NaN.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor sin(const Tensor& x);
[[nodiscard]] Tensor cos(const Tensor& x);
[[nodiscard]] Tensor tan(const Tensor& x);
/// From -pi/2 to pi/2, for x from -1 to 1.
[[nodiscard]] Tensor asin(const Tensor& x);
/// From 0 to pi, for x from -1 to 1.
[[nodiscard]] Tensor acos(const Tensor& x);
/// From -pi/2 to pi/2.
[[nodiscard]] Tensor atan(const Tensor& x);

[[nodiscard]] Tensor sinh(const Tensor& x);
[[nodiscard]] Tensor cosh(const Tensor& x);
[[nodiscard]] Tensor tanh(const Tensor& x);
[[nodiscard]] Tensor asinh(const Tensor& x);
/// For x of at least 1.
[[nodiscard]] Tensor acosh(const Tensor& x);
/// For x from -1 to 1, infinite at both.
[[nodiscard]] Tensor atanh(const Tensor& x);

/// The angle of the point (b, a), from -pi to pi; the shapes broadcast.
[[nodiscard]] Tensor atan2(const Tensor& a, const Tensor& b);
/// The distance of that point from the origin, sqrt(a^2 + b^2), without overflow on the way.
[[nodiscard]] Tensor hypot(const Tensor& a, const Tensor& b);

}  // namespace troupe
