// What is done with the bits of one element. T: std::int32_t or std::int64_t.
#pragma once

#include <type_traits>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

struct BitAnd {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a & b;
  }
};
struct BitOr {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a | b;
  }
};
struct BitXor {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return a ^ b;
  }
};

/// Whether `places` are fewer than T has; then a shift is defined.
template <class T>
TROUPE_HOST_DEVICE inline bool shifts_within(T places) {
  return static_cast<std::make_unsigned_t<T>>(places) < sizeof(T) * 8;
}

/// Beyond all places nothing is left.
struct LeftShift {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T places) const {
    return shifts_within(places) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << places) : T{0};
  }
};
/// Beyond all places only the sign is left.
struct RightShift {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T places) const {
    return a >> (shifts_within(places) ? places : static_cast<T>(sizeof(T) * 8 - 1));
  }
};

}  // namespace troupe::cuda
