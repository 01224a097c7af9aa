// Quotients and remainders: of reals in blocks, of integers one by one. `out` may be an argument. REQUIRES: count <=
// kBlockElements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/cpu/reals.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {

// Integers. REQUIRES: b is not 0. -1 is a separate case, because the least integer divided by -1 overflows.

template <class T>
T whole_fmod(T a, T b) {
  return b == T{-1} ? T{0} : a % b;
}
template <class T>
T whole_remainder(T a, T b) {
  const T rest = whole_fmod(a, b);
  return rest != T{0} && (rest < T{0}) != (b < T{0}) ? rest + b : rest;
}
template <class T>
T whole_floor_divide(T a, T b) {
  if (b == T{-1}) return wrapping(T{0}, a, [](auto p, auto q) { return p - q; });
  const T rest = a % b;
  return a / b - (rest != T{0} && (rest < T{0}) != (b < T{0}) ? T{1} : T{0});
}

/// The exact remainder of the truncated division a / b, with the sign of a.
template <class T>
void fmod(T* out, const T* a, const T* b, std::int64_t count) {
  constexpr T kLargest = static_cast<T>(0x1p100);
  constexpr T kNormal = std::numeric_limits<T>::min();
  bool easy = true;
  for (std::int64_t i = 0; i < count; ++i)
    easy &= std::abs(a[i]) < std::abs(b[i]) * kLargest && std::abs(b[i]) >= kNormal;
  if (easy) return real_functions<T>().fmod(out, a, b, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::fmod(a[i], b[i]);
}

/// The remainder with the sign of b: a - b floor(a / b).
template <class T>
void remainder(T* out, const T* a, const T* b, std::int64_t count) {
  RealBlock<T> rests;
  fmod(rests.data(), a, b, count);
  vectorized_for(count, [&](std::int64_t i) {
    const T rest = rests.data()[i];
    out[i] = rest != T{0} && (rest < T{0}) != (b[i] < T{0}) ? rest + b[i] : rest;
  });
}

/// floor(a / b) of the exact quotient, not of the rounded one.
template <class T>
void floor_divide(T* out, const T* a, const T* b, std::int64_t count) {
  RealBlock<T> rests;
  fmod(rests.data(), a, b, count);
  vectorized_for(count, [&](std::int64_t i) {
    const T rest = rests.data()[i];
    // An integer except for rounding errors.
    const T quotient = (a[i] - rest) / b[i] - (rest != T{0} && (rest < T{0}) != (b[i] < T{0}) ? T{1} : T{0});
    const T below = std::floor(quotient);
    const T whole = quotient == T{0}            ? std::copysign(T{0}, a[i] / b[i])
                    : quotient - below > T{0.5} ? below + T{1}
                                                : below;
    out[i] = b[i] == T{0} ? a[i] / b[i] : whole;
  });
}

}  // namespace troupe::cpu
