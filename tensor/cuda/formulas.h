// Formulas of elementwise operations on one element, as in tensor/cpu/elementwise.cc. T: std::int32_t, std::int64_t,
// float or double.
#pragma once

#include <cmath>
#include <numbers>
#include <type_traits>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

/// Returns f(a, b). Integers are computed as unsigned, where overflow is defined.
template <class T, class F>
TROUPE_HOST_DEVICE inline T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  }
}

struct Plus {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Minus {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a - b;
  }
};
struct Times {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};

// Two operands.

template <class Arithmetic>
struct Wrapping {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping(a, b, Arithmetic{});
  }
};
using Add = Wrapping<Plus>;
using Sub = Wrapping<Minus>;
using Mul = Wrapping<Times>;

// `a != a` holds only for NaN.
struct Maximum {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct Div {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a / b;
  }
};
struct Pow {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return std::pow(a, b);
  }
};

// One operand.

struct Neg {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return -x;
    else return wrapping(T{0}, x, Minus{});
  }
};
struct Abs {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    else return x < T{0} ? wrapping(T{0}, x, Minus{}) : x;
  }
};
struct Sign {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>((x > T{0}) - (x < T{0}));
  }
};
struct Relu {
  // NaN compares false, so it passes through.
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return x <= T{0} ? T{0} : x;
  }
};
// Integers need no rounding.
struct Floor {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::floor(x);
    else return x;
  }
};
struct Ceil {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::ceil(x);
    else return x;
  }
};
struct Round {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::nearbyint(x);
    else return x;
  }
};
struct Exp {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::exp(x);
  }
};
struct Expm1 {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::expm1(x);
  }
};
struct Log {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::log(x);
  }
};
struct Log1p {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::log1p(x);
  }
};
struct Sqrt {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return T{1} / std::sqrt(x);
  }
};
struct Sin {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::sin(x);
  }
};
struct Cos {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::cos(x);
  }
};
struct Tanh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::tanh(x);
  }
};
struct Erf {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::erf(x);
  }
};

}  // namespace troupe::cuda
