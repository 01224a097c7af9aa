// Activations of one element and their gradients, as in tensor/cpu/reals.h. T: float or double.
#pragma once

#include <cmath>
#include <numbers>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

struct Sigmoid {
  // exp(-|x|) never overflows.
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    const T exponential = std::exp(-std::abs(x));
    return (x >= T{0} ? T{1} : exponential) / (T{1} + exponential);
  }
};

struct Silu {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return x * Sigmoid{}(x);
  }
};

/// gate = tanh(log(1 + exp(x))) and rest = 1 - gate, as shares of a sum that does not overflow.
template <class T>
struct MishShares {
  T gate;
  T rest;

  TROUPE_HOST_DEVICE explicit MishShares(T x) {
    const T e = std::exp(-std::abs(x));
    gate = x >= T{0} ? T{1} + T{2} * e : e * (e + T{2});
    rest = x >= T{0} ? T{2} * e * e : T{2};
    const T both = gate + rest;
    gate /= both;
    rest /= both;
  }
};

struct Mish {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return x * MishShares<T>(x).gate;
  }
};

/// log(1 + exp(x))
struct Softplus {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    const T above = x > T{0} ? x : x != x ? x : T{0};
    return above + std::log1p(std::exp(-std::abs(x)));
  }
};

/// The cumulative distribution function of the standard normal distribution.
struct NormalCdf {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return T{0.5} * std::erfc(T{-1} / std::numbers::sqrt2_v<T> * x);
  }
};

struct Gelu {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return x * NormalCdf{}(x);
  }
};

/// tanh(a (x + b x^3)), the approximation of 2 NormalCdf - 1.
struct GeluTanhInner {
  template <class T>
  static constexpr T kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  template <class T>
  static constexpr T kCubic = static_cast<T>(0.044715);

  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::tanh(kScale<T> * (x + kCubic<T> * x * x * x));
  }
};

struct GeluTanh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return T{0.5} * x * (T{1} + GeluTanhInner{}(x));
  }
};

// Gradients by the input. Arguments: g, the gradient by the output; y, the output, or x, the input.

struct ReluBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T y) const {
    return y <= T{0} ? T{0} : g;
  }
};

struct TanhBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T y) const {
    return g * (T{1} - y * y);
  }
};

struct SigmoidBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T y) const {
    return g * (y * (T{1} - y));
  }
};

struct GeluBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T x) const {
    constexpr T kDensityAt0 = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return g * (NormalCdf{}(x) + x * kDensityAt0 * std::exp(T{-0.5} * x * x));
  }
};

struct GeluTanhBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T x) const {
    const T t = GeluTanhInner{}(x);
    const T inner = GeluTanhInner::kScale<T> * (T{1} + T{3} * GeluTanhInner::kCubic<T> * x * x);
    return g * (T{0.5} * (T{1} + t) + T{0.5} * x * (T{1} - t * t) * inner);
  }
};

struct SiluBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T x) const {
    const T s = Sigmoid{}(x);
    return g * (s * (T{1} + x * (T{1} - s)));
  }
};

struct MishBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T x) const {
    const MishShares<T> shares(x);
    return g * (shares.gate + x * (shares.rest * (T{1} + shares.gate)) * Sigmoid{}(x));
  }
};

struct SoftplusBackward {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T g, T x) const {
    return g * Sigmoid{}(x);
  }
};

}  // namespace troupe::cuda
