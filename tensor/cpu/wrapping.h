// Arithmetic of kernels in which integers wrap around.
#pragma once

#include <type_traits>

namespace troupe::cpu {

/// Returns f(a, b). Integers are computed as unsigned, where overflow is defined.
template <class T, class F>
T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  }
}

template <class T>
T wrapping_sum(T a, T b) {
  return wrapping(a, b, [](auto v, auto w) { return v + w; });
}

}  // namespace troupe::cpu
