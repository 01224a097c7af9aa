// Functions of reals on many elements, from SLEEF.
//
// Error: at most 1 unit in the last place (erfc: 1.5). The result of an element depends neither on its position nor on
// the vector width. Processors with and without fused multiply-add may differ in the last place.
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
  /// log1p is infinite for the largest x, see hyperbolic.h.
  RealFunction<T> exp, expm1, exp2, log, log1p, log2, log10, sin, cos, tan, asin, acos, atan, tanh, atanh, erf, erfc;
  /// Infinite also for some large finite results, see hyperbolic.h.
  RealFunction<T> sinh, cosh, asinh, acosh;
  /// pow is a to the power of b. hypot has no intermediate overflow.
  RealFunctionOfTwo<T> pow, atan2, hypot;
  /// Exact, except that quotients beyond 2^120 and subnormal divisors give wrong results, see remainders.h.
  RealFunctionOfTwo<T> fmod;
};

/// Returns the functions for this processor. T: float or double.
template <class T>
[[nodiscard]] const RealFunctions<T>& real_functions() noexcept;

}  // namespace troupe::cpu
