// Truncation, quotients and remainders of one element. T: std::int32_t, std::int64_t, float or double. REQUIRES: an
// integer divisor is not 0. -1 is a separate case, because the least integer divided by -1 overflows.
#pragma once

#include <cmath>
#include <type_traits>

#include "tensor/cuda/formulas.h"

namespace troupe::cuda {

struct Trunc {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::trunc(x);
    else return x;
  }
};

struct Fmod {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else return b == T{-1} ? T{0} : a % b;
  }
};

struct Remainder {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    const T rest = Fmod{}(a, b);
    return rest != T{0} && (rest < T{0}) != (b < T{0}) ? rest + b : rest;
  }
};

struct FloorDivide {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == T{0}) return a / b;
      const T rest = std::fmod(a, b);
      // An integer except for rounding errors.
      const T quotient = (a - rest) / b - (rest != T{0} && (rest < T{0}) != (b < T{0}) ? T{1} : T{0});
      if (quotient == T{0}) return std::copysign(T{0}, a / b);
      const T below = std::floor(quotient);
      return quotient - below > T{0.5} ? below + T{1} : below;
    } else {
      if (b == T{-1}) return Neg{}(a);
      const T rest = a % b;
      return a / b - (rest != T{0} && (rest < T{0}) != (b < T{0}) ? T{1} : T{0});
    }
  }
};

struct Copysign {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return std::copysign(a, b);
  }
};

}  // namespace troupe::cuda
