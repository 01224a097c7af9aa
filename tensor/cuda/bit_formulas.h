// Bit operations on one element. T: std::int32_t or std::int64_t.
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

/// Returns whether `places` is in [0, bits of T), so that a shift is defined.
template <class T>
TROUPE_HOST_DEVICE inline bool shifts_within(T places) {
  return static_cast<std::make_unsigned_t<T>>(places) < sizeof(T) * 8;
}

/// A shift outside [0, width) gives 0.
struct LeftShift {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T places) const {
    return shifts_within(places) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << places) : T{0};
  }
};
/// A shift outside [0, width) leaves only the sign.
struct RightShift {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T places) const {
    return a >> (shifts_within(places) ? places : static_cast<T>(sizeof(T) * 8 - 1));
  }
};

}  // namespace troupe::cuda
