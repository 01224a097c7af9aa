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

/// out[i] = f(a[i], b[i]) for i < count. `out` may be `a` or `b`.
template <class T>
using RealFunctionOfTwo = void (*)(T* out, const T* a, const T* b, std::int64_t count);

template <class T>
struct RealFunctions {
  RealFunction<T> exp, expm1, exp2, log, log1p, log2, log10, sin, cos, tan, asin, acos, atan, tanh, atanh, erf, erfc;
  /// Infinite also where the result is large but still finite, see hyperbolic.h.
  RealFunction<T> sinh, cosh, asinh, acosh;
  /// pow is a to the power of b. hypot has no overflow on the way.
  RealFunctionOfTwo<T> pow, atan2, hypot;
  /// Exact, but wrong for quotients beyond 2^120 and subnormal divisors, see remainders.h.
  RealFunctionOfTwo<T> fmod;
};

/// Those for this processor. T: float or double.
template <class T>
[[nodiscard]] const RealFunctions<T>& real_functions() noexcept;

}  // namespace troupe::cpu
