// Exponential functions, logarithms and related functions of one element. T: float or double.
#pragma once

#include <cmath>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

struct Exp2 {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::exp2(x);
  }
};
struct Log2 {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::log2(x);
  }
};
struct Log10 {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::log10(x);
  }
};
struct Erfc {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::erfc(x);
  }
};

struct Logit {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::log(x / (T{1} - x));
  }
};

// Two operands.

/// log(exp(a) + exp(b)). The difference of equal infinities counts as 0.
struct LogAddExp {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    const T larger = a > b || a != a ? a : b;
    const T smaller = a > b || a != a ? b : a;
    return larger + std::log1p(std::exp(larger == smaller ? T{0} : smaller - larger));
  }
};
/// a log(b); 0 where a is 0 and b is not NaN.
struct Xlogy {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a == T{0} && b == b ? T{0} : a * std::log(b);
  }
};

}  // namespace troupe::cuda
