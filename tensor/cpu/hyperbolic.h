// Hyperbolic functions, their inverses and log1p on blocks, correct wherever the result is finite. SLEEF's are infinite
// as soon as exp(x), or the square of x, is, and log1p for the largest x. `out` may be the argument.
// REQUIRES: count <= kBlockElements. T: float or double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "tensor/cpu/reals.h"

namespace troupe::cpu {

/// The limits up to which exp and the square are finite. Beyond them, sinh and cosh equal exp(|x|) / 2, asinh and acosh
/// equal log(2 |x|), and log1p equals log(x), in every digit.
template <class T>
inline constexpr T kFarForExp = static_cast<T>(sizeof(T) == sizeof(float) ? 88 : 709);
template <class T>
inline constexpr T kFarForSquare = static_cast<T>(sizeof(T) == sizeof(float) ? 1e19 : 1e154);

/// exp(|x|) / 2 for large x. |x| - 1 is exact there.
template <class T>
void half_exp(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [=](std::int64_t i) { out[i] = std::abs(x[i]) - T{1}; });
  real_functions<T>().exp(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] *= std::numbers::e_v<T> / T{2}; });
}
template <class T>
void signed_half_exp(T* out, const T* x, std::int64_t count) {
  half_exp(out, x, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = std::copysign(out[i], x[i]); });
}

/// log(2 x) for large x.
template <class T>
void log_of_double(T* out, const T* x, std::int64_t count) {
  real_functions<T>().log(out, x, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] += std::numbers::ln2_v<T>; });
}
template <class T>
void signed_log_of_double(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [=](std::int64_t i) { out[i] = std::abs(x[i]); });
  log_of_double(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = std::copysign(out[i], x[i]); });
}

/// Computes `far` where |x| > limit, else `near`. Few blocks have an element beyond the limit.
template <class T>
void near_or_far(T* out, const T* x, std::int64_t count, T limit, RealFunction<T> near, RealFunction<T> far) {
  if (std::none_of(x, x + count, [=](T v) { return std::abs(v) > limit; })) return near(out, x, count);
  RealBlock<T> of_far;
  RealBlock<T> of_near;
  far(of_far.data(), x, count);
  near(of_near.data(), x, count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    out[i] = std::abs(x[i]) > limit ? of_far[i] : of_near[i];
}

template <class T>
void sinh(T* out, const T* x, std::int64_t count) {
  near_or_far(out, x, count, kFarForExp<T>, real_functions<T>().sinh, signed_half_exp<T>);
}
template <class T>
void cosh(T* out, const T* x, std::int64_t count) {
  near_or_far(out, x, count, kFarForExp<T>, real_functions<T>().cosh, half_exp<T>);
}
template <class T>
void asinh(T* out, const T* x, std::int64_t count) {
  near_or_far(out, x, count, kFarForSquare<T>, real_functions<T>().asinh, signed_log_of_double<T>);
}
template <class T>
void acosh(T* out, const T* x, std::int64_t count) {
  near_or_far(out, x, count, kFarForSquare<T>, real_functions<T>().acosh, log_of_double<T>);
}
template <class T>
void log1p(T* out, const T* x, std::int64_t count) {
  near_or_far(out, x, count, kFarForSquare<T>, real_functions<T>().log1p, real_functions<T>().log);
}

}  // namespace troupe::cpu
