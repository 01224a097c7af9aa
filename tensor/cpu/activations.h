// Activations of one element, and their slopes.
#pragma once

#include <cmath>
#include <numbers>

namespace troupe::cpu {

template <class T>
T sigmoid(T x) {
  // exp of a negative number only: no overflow at either end.
  const T e = std::exp(-std::abs(x));
  return x >= T{0} ? T{1} / (T{1} + e) : e / (T{1} + e);
}

template <class T>
T silu_slope(T x) {
  const T s = sigmoid(x);
  return s * (T{1} + x * (T{1} - s));
}

/// log(1 + exp(x))
template <class T>
T softplus(T x) {
  return (x > T{0} ? x : T{0}) + std::log1p(std::exp(-std::abs(x)));
}

/// The probability that a normal number is below x.
template <class T>
T normal_cdf(T x) {
  return T{0.5} * std::erfc(-x / std::numbers::sqrt2_v<T>);
}

template <class T>
T gelu(T x) {
  return x * normal_cdf(x);
}

template <class T>
T gelu_slope(T x) {
  constexpr T kDensityAt0 = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  return normal_cdf(x) + x * kDensityAt0 * std::exp(T{-0.5} * x * x);
}

// gelu with the distribution of a normal number approximated by tanh(a (x + b x^3)).
template <class T>
inline constexpr T kGeluScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.044715);

template <class T>
T gelu_tanh(T x) {
  return T{0.5} * x * (T{1} + std::tanh(kGeluScale<T> * (x + kGeluCubic<T> * x * x * x)));
}

template <class T>
T gelu_tanh_slope(T x) {
  const T t = std::tanh(kGeluScale<T> * (x + kGeluCubic<T> * x * x * x));
  const T inner = kGeluScale<T> * (T{1} + T{3} * kGeluCubic<T> * x * x);
  return T{0.5} * (T{1} + t) + T{0.5} * x * (T{1} - t * t) * inner;
}

}  // namespace troupe::cpu
