#include "tensor/ops/arithmetic.h"

#include <fmt/format.h>

#include <limits>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/bits.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using detail::binary;
using detail::promoted;
using detail::unary;
using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::UnaryOp;

Tensor with_alpha(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b, double alpha) {
  detail::require_together(name, a, b);
  if (alpha == 1.0) return binary(name, op, a, b);
  const DType dtype = promoted(a, b);
  detail::require_value_of(name, alpha, dtype);
  if (dtype == DType::boolean) return binary(name, op, a, zeros(b.shape(), dtype, b.device()));
  const DType computed = is_floating(dtype) ? compute_dtype(dtype) : dtype;
  return binary(name, op, a.to(computed), binary(name, BinaryOp::mul, b.to(computed), alpha)).to(dtype);
}

Tensor compare(std::string_view name, CompareOp op, const Tensor& a, const Tensor& b) {
  detail::require_together(name, a, b);
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  const DType dtype = promoted(a, b);
  Tensor out = Tensor::empty(shape, DType::boolean, a.device());
  kernels_of(out).compare(op, out, a.to(dtype).expand(shape), b.to(dtype).expand(shape));
  return out;
}

// Returns `value` as the operand compared with `x`. It has the dtype of x where possible, so that it is rounded as an
// element of x is and equals an element that was created from the same number.
Tensor compared(std::string_view op, const Tensor& x, double value) {
  x.require_defined(op);
  const bool is_boolean = x.dtype() == DType::boolean && (value == 0.0 || value == 1.0);
  const DType dtype = is_boolean ? x.dtype() : promoted(x.dtype(), value);
  detail::require_value_of(op, value, dtype);
  return full({}, value, dtype, x.device());
}

double largest_finite(DType floating) {
  switch (floating) {
    case DType::f16: return 65504.0;
    case DType::bf16: return 0x1.FEp127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

// Returns whether writing `out` elementwise could overwrite elements of `x` before they are read.
bool overlaps(const Tensor& out, const Tensor& x) {
  return out.storage().same_as(x.storage()) && (out.offset() != x.offset() || out.strides() != x.strides());
}

/// Returns `base` to the power of `exponent` in its own dtype; integers wrap around. REQUIRES: exponent >= 0.
Tensor whole_pow(const Tensor& base, std::int64_t exponent) {
  Tensor result = ones_like(base);
  Tensor factor = base;
  for (std::int64_t left = exponent; left > 0; left /= 2) {
    if (left % 2 == 1) result = mul(result, factor);
    if (left > 1) factor = mul(factor, factor);
  }
  return result;
}

/// The same elementwise, with broadcasting. REQUIRES: both have the same integer dtype. A negative exponent gives
/// 1 / base^-exponent rounded toward 0: 1 or -1 for the bases 1 and -1, 0 for every other base, 0 included.
/// Reads the exponents, so on a GPU it waits.
Tensor whole_pow(const Tensor& base, const Tensor& exponent) {
  const Shape shape = broadcast_shapes("pow", base.shape(), exponent.shape());
  Tensor result = ones(shape, base.dtype(), base.device());
  if (result.numel() == 0) return result;
  const auto is_odd = [](const Tensor& x) { return ne(bitwise_and(x, 1.0), 0.0); };
  Tensor factor = base;
  Tensor left = exponent;
  for (auto most = max(exponent).item<std::int64_t>(); most > 0; most /= 2) {
    result = where(is_odd(left), mul(result, factor), result);
    if (most == 1) break;
    factor = mul(factor, factor);
    left = bitwise_right_shift(left, 1.0);
  }
  if (exponent.dtype() == DType::u8) return result;
  const auto number = [&](double value) { return full({}, value, base.dtype(), base.device()); };
  const Tensor of_minus_1 = where(is_odd(exponent), number(-1.0), number(1.0));
  const Tensor quotient = where(eq(base, 1.0), number(1.0), where(eq(base, -1.0), of_minus_1, number(0.0)));
  return where(lt(exponent, 0.0), quotient, result);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return binary("add", BinaryOp::add, a, b); }
Tensor add(const Tensor& a, double b) { return binary("add", BinaryOp::add, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return binary("sub", BinaryOp::sub, a, b); }
Tensor sub(const Tensor& a, double b) { return binary("sub", BinaryOp::sub, a, b); }
Tensor sub(double a, const Tensor& b) { return binary("sub", BinaryOp::sub, a, b); }
Tensor add(const Tensor& a, const Tensor& b, double alpha) { return with_alpha("add", BinaryOp::add, a, b, alpha); }
Tensor sub(const Tensor& a, const Tensor& b, double alpha) { return with_alpha("sub", BinaryOp::sub, a, b, alpha); }
Tensor mul(const Tensor& a, const Tensor& b) { return binary("mul", BinaryOp::mul, a, b); }
Tensor mul(const Tensor& a, double b) { return binary("mul", BinaryOp::mul, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return binary("div", BinaryOp::div, a, b); }
Tensor div(const Tensor& a, double b) { return binary("div", BinaryOp::div, a, b); }
Tensor div(double a, const Tensor& b) { return binary("div", BinaryOp::div, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary("maximum", BinaryOp::maximum, a, b); }
Tensor maximum(const Tensor& a, double b) { return binary("maximum", BinaryOp::maximum, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary("minimum", BinaryOp::minimum, a, b); }
Tensor minimum(const Tensor& a, double b) { return binary("minimum", BinaryOp::minimum, a, b); }

Tensor pow(const Tensor& x, double exponent) {
  x.require_defined("pow");
  const DType with_number = promoted(x.dtype(), exponent);
  const bool is_whole = !is_floating(with_number) && exponent >= 0.0;
  const Tensor base = x.to(is_whole ? with_number : promote_to_floating(x.dtype()));
  // Special cases for the most frequent exponents: they are exact, and std::pow takes 20 times as long.
  if (exponent == 1.0) return base.clone();
  if (exponent == 2.0) return binary("pow", BinaryOp::mul, base, base);
  if (!is_whole) return binary("pow", BinaryOp::pow, base, exponent);
  return whole_pow(base, static_cast<std::int64_t>(exponent));
}

Tensor pow(const Tensor& a, const Tensor& b) {
  detail::require_together("pow", a, b);
  const DType dtype = promoted(a, b);
  if (dtype == DType::boolean) throw DTypeError("[pow] not defined for boolean");
  return is_floating(dtype) ? binary("pow", BinaryOp::pow, a, b) : whole_pow(a.to(dtype), b.to(dtype));
}

Tensor neg(const Tensor& x) { return unary("neg", UnaryOp::neg, x); }
Tensor abs(const Tensor& x) { return unary("abs", UnaryOp::abs, x); }
Tensor sign(const Tensor& x) {
  return x.defined() && x.dtype() == DType::boolean ? x.clone() : unary("sign", UnaryOp::sign, x);
}
Tensor floor(const Tensor& x) { return unary("floor", UnaryOp::floor, x); }
Tensor ceil(const Tensor& x) { return unary("ceil", UnaryOp::ceil, x); }
Tensor round(const Tensor& x) { return unary("round", UnaryOp::round, x); }
Tensor trunc(const Tensor& x) { return unary("trunc", UnaryOp::trunc, x); }
Tensor frac(const Tensor& x) { return binary("frac", BinaryOp::sub, x, unary("frac", UnaryOp::trunc, x)); }
Tensor square(const Tensor& x) {
  x.require_defined("square");
  const Tensor numbers = x.dtype() == DType::boolean ? x.to(DType::i64) : x;
  return binary("square", BinaryOp::mul, numbers, numbers);
}
Tensor reciprocal(const Tensor& x) { return binary("reciprocal", BinaryOp::div, 1.0, x); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", UnaryOp::sqrt, x); }
Tensor rsqrt(const Tensor& x) { return unary("rsqrt", UnaryOp::rsqrt, x); }
Tensor erf(const Tensor& x) { return unary("erf", UnaryOp::erf, x); }
Tensor erfc(const Tensor& x) { return unary("erfc", UnaryOp::erfc, x); }
Tensor clamp(const Tensor& x, double low, double high) {
  if (low > high) throw ValueError(fmt::format("[clamp] low above high: {} > {}", low, high));
  return binary("clamp", BinaryOp::minimum, binary("clamp", BinaryOp::maximum, x, low), high);
}

Tensor clamp_min(const Tensor& x, double low) { return binary("clamp_min", BinaryOp::maximum, x, low); }
Tensor clamp_min(const Tensor& x, const Tensor& low) { return binary("clamp_min", BinaryOp::maximum, x, low); }
Tensor clamp_max(const Tensor& x, double high) { return binary("clamp_max", BinaryOp::minimum, x, high); }
Tensor clamp_max(const Tensor& x, const Tensor& high) { return binary("clamp_max", BinaryOp::minimum, x, high); }
Tensor copysign(const Tensor& a, const Tensor& b) { return binary("copysign", BinaryOp::copysign, a, b); }
Tensor copysign(const Tensor& a, double b) { return binary("copysign", BinaryOp::copysign, a, b); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  detail::require_together("where", condition, a);
  detail::require_together("where", condition, b);
  if (condition.dtype() != DType::boolean) {
    throw DTypeError(fmt::format("[where] condition is {}, not boolean", name_of(condition.dtype())));
  }
  const Shape shape = broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const DType dtype = promoted(a, b);
  Tensor out = Tensor::empty(shape, dtype, a.device());
  kernels_of(out).select(out, condition.expand(shape), a.to(dtype).expand(shape), b.to(dtype).expand(shape));
  return out;
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  a.require_defined("where");
  return where(condition, a, full({}, b, promoted(a.dtype(), b), a.device()));
}
Tensor where(const Tensor& condition, double a, const Tensor& b) {
  b.require_defined("where");
  return where(condition, full({}, a, promoted(b.dtype(), a), b.device()), b);
}

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", CompareOp::eq, a, b); }
Tensor eq(const Tensor& a, double b) { return eq(a, compared("eq", a, b)); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", CompareOp::ne, a, b); }
Tensor ne(const Tensor& a, double b) { return ne(a, compared("ne", a, b)); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", CompareOp::lt, a, b); }
Tensor lt(const Tensor& a, double b) { return lt(a, compared("lt", a, b)); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", CompareOp::le, a, b); }
Tensor le(const Tensor& a, double b) { return le(a, compared("le", a, b)); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", CompareOp::lt, b, a); }
Tensor gt(const Tensor& a, double b) { return gt(a, compared("gt", a, b)); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", CompareOp::le, b, a); }
Tensor ge(const Tensor& a, double b) { return ge(a, compared("ge", a, b)); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  detail::require_together("logical_and", a, b);
  return where(a.to(DType::boolean), b.to(DType::boolean), full({}, 0, DType::boolean, a.device()));
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  detail::require_together("logical_or", a, b);
  return where(a.to(DType::boolean), full({}, 1, DType::boolean, a.device()), b.to(DType::boolean));
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  detail::require_together("logical_xor", a, b);
  return compare("logical_xor", CompareOp::ne, a.to(DType::boolean), b.to(DType::boolean));
}
Tensor logical_not(const Tensor& x) {
  x.require_defined("logical_not");
  return eq(x.to(DType::boolean), 0.0);
}

Tensor isnan(const Tensor& x) {
  x.require_defined("isnan");
  return ne(x, x);
}
Tensor isfinite(const Tensor& x) {
  x.require_defined("isfinite");
  return is_floating(x.dtype()) ? lt(abs(x), std::numeric_limits<double>::infinity())
                                : ones(x.shape(), DType::boolean, x.device());
}

Tensor isinf(const Tensor& x) {
  x.require_defined("isinf");
  return is_floating(x.dtype()) ? eq(abs(x), std::numeric_limits<double>::infinity())
                                : zeros(x.shape(), DType::boolean, x.device());
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, EqualNan nan) {
  detail::require_together("isclose", a, b);
  (void)broadcast_shapes("isclose", a.shape(), b.shape());
  if (!(rtol >= 0.0 && atol >= 0.0))
    throw ValueError(fmt::format("[isclose] tolerance below 0: rtol {}, atol {}", rtol, atol));
  const Tensor x = a.to(DType::f64);
  const Tensor y = b.to(DType::f64);
  const Tensor difference = abs(x - y);
  // An infinite difference is not close, although it is within an infinite tolerance.
  const Tensor near = logical_and(le(difference, abs(y) * rtol + atol), isfinite(difference));
  const Tensor close = logical_or(eq(x, y), near);
  return nan == EqualNan::yes ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}

Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  x.require_defined("nan_to_num");
  if (!is_floating(x.dtype())) return x.clone();
  const auto number = [&](double value) { return full({}, value, x.dtype(), x.device()); };
  const double largest = largest_finite(x.dtype());
  const Tensor with_nan = where(isnan(x), number(options.nan), x);
  const Tensor with_negative = where(eq(x, -kInfinity), number(options.neginf.value_or(-largest)), with_nan);
  return where(eq(x, kInfinity), number(options.posinf.value_or(largest)), with_negative);
}

void axpby_into(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  constexpr std::string_view kName = "axpby_into";
  for (const Tensor* x : {&a, &b}) {
    detail::require_together(kName, out, *x);
    detail::require_same_shape(kName, out, *x);
    detail::require_same_dtype(kName, out, *x);
  }
  if (!is_floating(out.dtype())) detail::throw_not_floating(kName, out.dtype());
  detail::require_distinct_elements(kName, out);
  kernels_of(out).axpby(out, alpha, overlaps(out, a) ? a.clone() : a, beta, overlaps(out, b) ? b.clone() : b);
}

void add_into(Tensor& out, const Tensor& a) {
  constexpr std::string_view kName = "add_into";
  detail::require_together(kName, out, a);
  detail::require_same_shape(kName, out, a);
  detail::require_same_dtype(kName, out, a);
  if (out.dtype() == DType::boolean) throw DTypeError("[add_into] not defined for boolean");
  detail::require_distinct_elements(kName, out);
  kernels_of(out).binary(BinaryOp::add, out, out, overlaps(out, a) ? a.clone() : a);
}

void scale_into(Tensor& out, double alpha) {
  constexpr std::string_view kName = "scale_into";
  out.require_defined(kName);
  if (out.dtype() == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", kName));
  detail::require_value_of(kName, alpha, out.dtype());
  detail::require_distinct_elements(kName, out);
  kernels_of(out).binary(BinaryOp::mul, out, out, alpha);
}

}  // namespace troupe
