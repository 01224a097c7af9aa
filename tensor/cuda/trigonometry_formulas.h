// Functions of angles, hyperbolic functions and their inverses, of one element. T: float or double.
#pragma once

#include <cmath>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

struct Tan {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::tan(x);
  }
};
struct Asin {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::asin(x);
  }
};
struct Acos {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::acos(x);
  }
};
struct Atan {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::atan(x);
  }
};
struct Sinh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::sinh(x);
  }
};
struct Cosh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::cosh(x);
  }
};
struct Asinh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::asinh(x);
  }
};
struct Acosh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::acosh(x);
  }
};
struct Atanh {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T x) const {
    return std::atanh(x);
  }
};

// Two operands.

struct Atan2 {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
};
struct Hypot {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return std::hypot(a, b);
  }
};

}  // namespace troupe::cuda
