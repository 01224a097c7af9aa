// Arithmetic, comparisons and logic, element by element. Rules as in ops.h.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace troupe {

// Arithmetic. Throws ShapeError `[add] shapes do not broadcast: (2, 3) and (4)`.

[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor add(const Tensor& a, double b);
[[nodiscard]] Tensor sub(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor sub(const Tensor& a, double b);
[[nodiscard]] Tensor sub(double a, const Tensor& b);
/// a + alpha * b and a - alpha * b. For integers alpha is an integer: throws DTypeError
/// `[add] not a value of i64: 0.5`.
[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b, double alpha);
[[nodiscard]] Tensor sub(const Tensor& a, const Tensor& b, double alpha);
[[nodiscard]] Tensor mul(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor mul(const Tensor& a, double b);
/// True division: integers become f32.
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor div(const Tensor& a, double b);
[[nodiscard]] Tensor div(double a, const Tensor& b);
/// The larger (smaller) of each pair; NaN if either is NaN.
[[nodiscard]] Tensor maximum(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor maximum(const Tensor& a, double b);
[[nodiscard]] Tensor minimum(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor minimum(const Tensor& a, double b);
/// x raised to `exponent`. Integers become f32 unless the exponent is whole and not negative; then they wrap around.
[[nodiscard]] Tensor pow(const Tensor& x, double exponent);

/// `a` raised to `b`, elementwise. Integers stay integers: a negative exponent gives the reciprocal rounded toward 0,
/// which is 1 or -1 for the bases 1 and -1 and 0 for every other base, 0 included.
[[nodiscard]] Tensor pow(const Tensor& a, const Tensor& b);

[[nodiscard]] Tensor neg(const Tensor& x);
[[nodiscard]] Tensor abs(const Tensor& x);
/// -1, 0 or 1; NaN gives 0. Booleans are unchanged.
[[nodiscard]] Tensor sign(const Tensor& x);
/// Rounds down, up, or to the nearest integer (ties to even). Integers are unchanged.
[[nodiscard]] Tensor floor(const Tensor& x);
[[nodiscard]] Tensor ceil(const Tensor& x);
[[nodiscard]] Tensor round(const Tensor& x);
/// trunc rounds toward 0; frac(x) = x - trunc(x), with the sign of x. For integers frac is 0.
[[nodiscard]] Tensor trunc(const Tensor& x);
[[nodiscard]] Tensor frac(const Tensor& x);
/// x * x; integers stay integers, booleans become i64.
[[nodiscard]] Tensor square(const Tensor& x);
/// 1 / x
[[nodiscard]] Tensor reciprocal(const Tensor& x);
[[nodiscard]] Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x)
[[nodiscard]] Tensor rsqrt(const Tensor& x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
[[nodiscard]] Tensor erf(const Tensor& x);
/// 1 - erf(x), without cancellation where it is near 0.
[[nodiscard]] Tensor erfc(const Tensor& x);
/// x limited to [low, high]. Throws ValueError `[clamp] low above high: 2 > 1`.
[[nodiscard]] Tensor clamp(const Tensor& x, double low, double high);
/// x limited on one side: clamp_min is maximum(x, low), clamp_max is minimum(x, high).
[[nodiscard]] Tensor clamp_min(const Tensor& x, double low);
[[nodiscard]] Tensor clamp_min(const Tensor& x, const Tensor& low);
[[nodiscard]] Tensor clamp_max(const Tensor& x, double high);
[[nodiscard]] Tensor clamp_max(const Tensor& x, const Tensor& high);
/// |a| with the sign bit of `b`, also of a zero or NaN `b`. Integers become f32.
[[nodiscard]] Tensor copysign(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor copysign(const Tensor& a, double b);
/// `a` where `condition` (boolean) holds, else `b`; all three broadcast.
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& a, double b);
[[nodiscard]] Tensor where(const Tensor& condition, double a, const Tensor& b);

// Comparisons; the result is boolean.

[[nodiscard]] Tensor eq(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor eq(const Tensor& a, double b);
[[nodiscard]] Tensor ne(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor ne(const Tensor& a, double b);
[[nodiscard]] Tensor lt(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor lt(const Tensor& a, double b);
[[nodiscard]] Tensor le(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor le(const Tensor& a, double b);
[[nodiscard]] Tensor gt(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor gt(const Tensor& a, double b);
[[nodiscard]] Tensor ge(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor ge(const Tensor& a, double b);

// Logic. The result is boolean; an operand is true where it is not 0.

[[nodiscard]] Tensor logical_and(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logical_or(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logical_xor(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logical_not(const Tensor& x);
[[nodiscard]] Tensor isnan(const Tensor& x);
/// Neither NaN nor infinite.
[[nodiscard]] Tensor isfinite(const Tensor& x);
[[nodiscard]] Tensor isinf(const Tensor& x);

/// Whether isclose treats two NaN as close.
enum class EqualNan : std::uint8_t { no, yes };
/// Whether |a - b| <= atol + rtol * |b|, in f64. An infinity is close to itself only. allclose() (tensor.h) tests all
/// elements. Throws ValueError `[isclose] tolerance below 0: rtol -1, atol 0`.
[[nodiscard]] Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                             EqualNan nan = EqualNan::no);

/// The replacements of NaN and of both infinities, for these by default the largest and the least finite number.
struct NanToNumOptions {
  double nan = 0.0;
  std::optional<double> posinf = std::nullopt;
  std::optional<double> neginf = std::nullopt;
};
/// x with NaN and infinities replaced. Integers and booleans are unchanged.
[[nodiscard]] Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options = {});

// Operations that write into `out`. The operands have the shape and dtype of `out` (no broadcasting) and may alias it.
// Throws ShapeError `[axpby_into] shapes differ: (2) and (3)`.

/// out = alpha * a + beta * b in one pass. REQUIRES: a floating dtype. Each product is rounded before the sum, to f32
/// for f16 and bf16. An alpha of 1 is exact.
void axpby_into(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b);
/// out = out + a
void add_into(Tensor& out, const Tensor& a);
/// out = alpha * out
void scale_into(Tensor& out, double alpha);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }

}  // namespace troupe
