// Functions of reals for many elements at once, from SLEEF.
//
// At most 1 unit in the last place off (erfc 1.5). An element's result does not depend on its place, nor on the vector
// instructions; processors with and without fused multiply-add may differ in the last place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// out[i] = f(x[i]) for i < count. `out` may be `x`.
template <class T>
using RealFunction = void (*)(T* out, const T* x, std::int64_t count);

template <class T>
struct RealFunctions {
  RealFunction<T> exp, expm1, log, log1p, sin, cos, tanh, erf, erfc;
  /// out[i] = a[i] to the power of b[i]. `out` may be `a` or `b`.
  void (*pow)(T* out, const T* a, const T* b, std::int64_t count);
};

/// Those for this processor. T: float or double.
template <class T>
[[nodiscard]] const RealFunctions<T>& real_functions() noexcept;

}  // namespace troupe::cpu
