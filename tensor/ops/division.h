// Rounded quotients and remainders, elementwise; rules as in ops.h. Integers stay integers.
//
// A real divided by 0 gives an infinity or NaN, its remainder NaN. An integer divided by 0 throws ValueError
// `[fmod] an integer is divided by 0`: the function reads the divisors first, so on a GPU it waits. The least integer
// divided by -1 wraps around to itself.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// How div rounds: none is true division, trunc rounds toward 0 as C does, floor rounds down as floor_divide does.
enum class Rounding : std::uint8_t { none, trunc, floor };
/// a / b, rounded. Unless `rounding` is none, integers stay integers; throws ValueError
/// `[div] an integer is divided by 0`.
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b, Rounding rounding);
[[nodiscard]] Tensor div(const Tensor& a, double b, Rounding rounding);

/// floor(a / b), of the exact quotient.
[[nodiscard]] Tensor floor_divide(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor floor_divide(const Tensor& a, double b);

/// a - b trunc(a / b), exact: the remainder with the sign of a, as in C.
[[nodiscard]] Tensor fmod(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor fmod(const Tensor& a, double b);

/// a - b floor(a / b): the remainder with the sign of b, as in Python. For reals it may be rounded, at most to b.
[[nodiscard]] Tensor remainder(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor remainder(const Tensor& a, double b);
[[nodiscard]] Tensor remainder(double a, const Tensor& b);

}  // namespace troupe
