// Quotients rounded down and what is left of a division, of elements; rules as in ops.h. Integers stay integers.
//
// Reals divided by 0 are infinite or NaN, and leave NaN. Integers divided by 0 are a ValueError
// `[fmod] an integer is divided by 0`, for which the divisors are looked at first: on a GPU the call waits. The least
// integer divided by -1 wraps around to itself.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// How div rounds: not at all, as true division, toward 0, as C does, or down, as floor_divide.
enum class Rounding : std::uint8_t { none, trunc, floor };
/// a / b, rounded. Integers stay integers where it is. Throws ValueError `[div] an integer is divided by 0` then.
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b, Rounding rounding);
[[nodiscard]] Tensor div(const Tensor& a, double b, Rounding rounding);

/// floor(a / b), of the exact quotient.
[[nodiscard]] Tensor floor_divide(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor floor_divide(const Tensor& a, double b);

/// a - b trunc(a / b), exact: the remainder with the sign of a, C's.
[[nodiscard]] Tensor fmod(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor fmod(const Tensor& a, double b);

/// a - b floor(a / b): the remainder with the sign of b, Python's. Of reals it may be rounded, to b at most.
[[nodiscard]] Tensor remainder(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor remainder(const Tensor& a, double b);
[[nodiscard]] Tensor remainder(double a, const Tensor& b);

}  // namespace troupe
