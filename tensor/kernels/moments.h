// Formulas shared by the normalization kernels of all devices: sums of pairs, mean and variance, and the maps made from
// them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

struct PairSums {
  double first = 0.0;    ///< of u
  double product = 0.0;  ///< of u v
  [[gnu::always_inline]] void add(const PairSums& other) {
    first += other.first;
    product += other.product;
  }
};

/// Sums u(i) and u(i) * v(i) for i < count. u and v should hold numbers by value, as for vectorized().
template <class U, class V>
[[gnu::always_inline]] inline PairSums pair_sums(std::int64_t count, const U& u, const V& v) {
  constexpr std::int64_t kLanes = 32;
  PairSums rest;
  std::int64_t i = 0;
  if (count >= kLanes) {
    std::array<double, kLanes> firsts{};
    std::array<double, kLanes> products{};
    for (; i + kLanes <= count; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const double value = u(i + lane);
        firsts[static_cast<std::size_t>(lane)] += value;
        products[static_cast<std::size_t>(lane)] += value * v(i + lane);
      }
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        firsts[lane] += firsts[lane + half];
        products[lane] += products[lane + half];
      }
    }
    rest = {firsts[0], products[0]};
  }
  for (; i < count; ++i) {
    const double value = u(i);
    rest.add({value, value * v(i)});
  }
  return rest;
}

/// Mean and variance of `count` elements, from the sums of their distances from `origin` and of the squares of these.
/// If `origin` is one of the elements, cancellation in the difference of squares is bounded by their spread. Both are
/// NaN if an element is; the variance is if one is infinite.
struct MeanAndVar {
  double mean;
  double var;
  TROUPE_HOST_DEVICE MeanAndVar(double origin, const PairSums& distances, double count)
      : mean(origin + distances.first / count),
        var((distances.product - distances.first * (distances.first / count)) / count) {
    if (var < 0.0) var = 0.0;
  }
};

/// y = (x - mean) * scale + shift
template <class T>
struct Affine {
  T mean;
  T scale;
  T shift;
  [[nodiscard, gnu::always_inline]] TROUPE_HOST_DEVICE T operator()(T x) const { return (x - mean) * scale + shift; }
};

/// by x = by_grad * grad + (x - mean) * by_distance + constant
template <class T>
struct Slope {
  T mean;
  T by_grad;
  T by_distance;
  T constant;
  [[nodiscard, gnu::always_inline]] TROUPE_HOST_DEVICE T operator()(T grad, T x) const {
    return by_grad * grad + ((x - mean) * by_distance + constant);
  }
};

/// by x = by_grad * grad: the slope for moments that do not depend on x. Without a distance from the mean it is finite
/// where that is not.
template <class T>
struct Scale {
  T by_grad;
  Scale() = default;
  TROUPE_HOST_DEVICE explicit Scale(const Slope<T>& slope) : by_grad(slope.by_grad) {}
  [[nodiscard, gnu::always_inline]] TROUPE_HOST_DEVICE T operator()(T grad, T) const { return by_grad * grad; }
};

TROUPE_HOST_DEVICE inline double inverse_std(double var, double eps) { return 1.0 / std::sqrt(var + eps); }

/// Returns the slope of one channel or group. `sums` are those of grad * weight and of grad * weight * (x - mean) over
/// `count` elements.
template <class T>
TROUPE_HOST_DEVICE Slope<T> slope_of(double mean, double inverse, const PairSums& sums, double count, double weight) {
  const double inverse_cubed = inverse * inverse * inverse;
  return {static_cast<T>(mean), static_cast<T>(inverse * weight), static_cast<T>(-inverse_cubed * sums.product / count),
          static_cast<T>(-inverse * sums.first / count)};
}

}  // namespace troupe::kernels
