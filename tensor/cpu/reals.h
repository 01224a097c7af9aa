// Functions of reals and activations on blocks of contiguous elements, and the derivatives that gradients need. `out`
// may be an argument. REQUIRES: count <= kBlockElements. T: float or double.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/vector_math.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {

template <class T>
struct alignas(64) RealBlock : std::array<T, kBlockElements> {};

/// Returns sigmoid(x). `exponential` is exp(-|x|), which never overflows.
template <class T>
[[gnu::always_inline]] inline T sigmoid_from(T x, T exponential) {
  return (x >= T{0} ? T{1} : exponential) / (T{1} + exponential);
}

template <class T>
void exp_of_minus_abs(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [&](std::int64_t i) { out[i] = -std::abs(x[i]); });
  real_functions<T>().exp(out, out, count);
}

template <class T>
void sigmoid(T* out, const T* x, std::int64_t count) {
  RealBlock<T> e;
  exp_of_minus_abs(e.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = sigmoid_from(x[i], e.data()[i]); });
}

template <class T>
void silu(T* out, const T* x, std::int64_t count) {
  RealBlock<T> s;
  sigmoid(s.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = x[i] * s.data()[i]; });
}
template <class T>
void silu_slope(T* out, const T* x, std::int64_t count) {
  RealBlock<T> s;
  sigmoid(s.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = s.data()[i] * (T{1} + x[i] * (T{1} - s.data()[i])); });
}

/// log(x / (1 - x))
template <class T>
void logit(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [&](std::int64_t i) { out[i] = x[i] / (T{1} - x[i]); });
  real_functions<T>().log(out, out, count);
}

/// log(exp(a) + exp(b)) without overflow. The difference of equal infinities counts as 0.
template <class T>
void logaddexp(T* out, const T* a, const T* b, std::int64_t count) {
  RealBlock<T> larger;
  RealBlock<T> rest;
  vectorized_for(count, [&](std::int64_t i) {
    const bool first = a[i] > b[i] || a[i] != a[i];
    larger.data()[i] = first ? a[i] : b[i];
    const T difference = (first ? b[i] : a[i]) - larger.data()[i];
    rest.data()[i] = a[i] == b[i] ? T{0} : difference;
  });
  real_functions<T>().exp(rest.data(), rest.data(), count);
  real_functions<T>().log1p(rest.data(), rest.data(), count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = larger.data()[i] + rest.data()[i]; });
}

/// a log(b); 0 where a is 0 and b is not NaN.
template <class T>
void xlogy(T* out, const T* a, const T* b, std::int64_t count) {
  RealBlock<T> logarithm;
  real_functions<T>().log(logarithm.data(), b, count);
  vectorized_for(count,
                 [&](std::int64_t i) { out[i] = a[i] == T{0} && b[i] == b[i] ? T{0} : a[i] * logarithm.data()[i]; });
}

/// gate = tanh(log(1 + exp(x))) and rest = 1 - gate, as shares of a sum. `e` is exp(-|x|), which never overflows.
template <class T>
struct MishShares {
  T gate;
  T rest;
};
template <class T>
[[gnu::always_inline]] inline MishShares<T> mish_shares(T x, T e) {
  const T gate = x >= T{0} ? T{1} + T{2} * e : e * (e + T{2});
  const T rest = x >= T{0} ? T{2} * e * e : T{2};
  return {gate / (gate + rest), rest / (gate + rest)};
}

template <class T>
void mish(T* out, const T* x, std::int64_t count) {
  RealBlock<T> e;
  exp_of_minus_abs(e.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = x[i] * mish_shares(x[i], e.data()[i]).gate; });
}
template <class T>
void mish_slope(T* out, const T* x, std::int64_t count) {
  RealBlock<T> e;
  exp_of_minus_abs(e.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) {
    const auto [gate, rest] = mish_shares(x[i], e.data()[i]);
    out[i] = gate + x[i] * (rest * (T{1} + gate)) * sigmoid_from(x[i], e.data()[i]);
  });
}

/// log(1 + exp(x))
template <class T>
void softplus(T* out, const T* x, std::int64_t count) {
  RealBlock<T> e;
  exp_of_minus_abs(e.data(), x, count);
  real_functions<T>().log1p(e.data(), e.data(), count);
  vectorized_for(count, [&](std::int64_t i) {
    out[i] = (x[i] > T{0} ? x[i] : x[i] != x[i] ? x[i] : T{0}) + e.data()[i];
  });
}

/// The cumulative distribution function of the standard normal distribution.
template <class T>
void normal_cdf(T* out, const T* x, std::int64_t count) {
  constexpr T kScale = T{-1} / std::numbers::sqrt2_v<T>;
  vectorized_for(count, [&](std::int64_t i) { out[i] = kScale * x[i]; });
  real_functions<T>().erfc(out, out, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] *= T{0.5}; });
}

template <class T>
void gelu(T* out, const T* x, std::int64_t count) {
  RealBlock<T> p;
  normal_cdf(p.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = x[i] * p.data()[i]; });
}
template <class T>
void gelu_slope(T* out, const T* x, std::int64_t count) {
  constexpr T kDensityAt0 = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  RealBlock<T> p;
  RealBlock<T> density;
  normal_cdf(p.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { density.data()[i] = T{-0.5} * x[i] * x[i]; });
  real_functions<T>().exp(density.data(), density.data(), count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = p.data()[i] + x[i] * kDensityAt0 * density.data()[i]; });
}

// gelu with the distribution of a normal number approximated by tanh(a (x + b x^3)).
template <class T>
inline constexpr T kGeluScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.044715);

template <class T>
void gelu_tanh_inner(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [&](std::int64_t i) { out[i] = kGeluScale<T> * (x[i] + kGeluCubic<T> * x[i] * x[i] * x[i]); });
  real_functions<T>().tanh(out, out, count);
}

template <class T>
void gelu_tanh(T* out, const T* x, std::int64_t count) {
  RealBlock<T> t;
  gelu_tanh_inner(t.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) { out[i] = T{0.5} * x[i] * (T{1} + t.data()[i]); });
}
template <class T>
void gelu_tanh_slope(T* out, const T* x, std::int64_t count) {
  RealBlock<T> t;
  gelu_tanh_inner(t.data(), x, count);
  vectorized_for(count, [&](std::int64_t i) {
    const T inner = kGeluScale<T> * (T{1} + T{3} * kGeluCubic<T> * x[i] * x[i]);
    out[i] = T{0.5} * (T{1} + t.data()[i]) + T{0.5} * x[i] * (T{1} - t.data()[i] * t.data()[i]) * inner;
  });
}

}  // namespace troupe::cpu
