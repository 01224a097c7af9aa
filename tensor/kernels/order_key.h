// Integer sort keys with the order of elements, the same on the CPU and on GPUs.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

/// Returns a key that compares as `x` does among elements of its type. NaN has the largest key; both zeros have the
/// same.
template <class T>
TROUPE_HOST_DEVICE inline std::uint64_t order_key(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return static_cast<Bits>(~Bits{0});
    const Bits bits = std::bit_cast<Bits>(x == T{0} ? T{0} : x);
    return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
  } else {
    return static_cast<Bits>(x) ^ kSign;
  }
}

}  // namespace troupe::kernels
