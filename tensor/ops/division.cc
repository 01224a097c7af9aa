#include "tensor/ops/division.h"

#include <fmt/format.h>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using kernels::BinaryOp;

[[noreturn]] void throw_divided_by_0(std::string_view op) {
  throw ValueError(fmt::format("[{}] an integer is divided by 0", op));
}

Tensor divide(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b) {
  detail::require_together(name, a, b);
  (void)broadcast_shapes(name, a.shape(), b.shape());
  if (!is_floating(detail::promoted(a, b)) && any(eq(b, 0.0)).item<bool>()) throw_divided_by_0(name);
  return detail::binary(name, op, a, b);
}

Tensor divide(std::string_view name, BinaryOp op, const Tensor& a, double b) {
  a.require_defined(name);
  if (!is_floating(a.dtype()) && b == 0.0) throw_divided_by_0(name);
  return detail::binary(name, op, a, b);
}

DType quotient_dtype(const Tensor& a, const Tensor& b) {
  detail::require_together("div", a, b);
  return detail::promoted(a, b);
}
DType quotient_dtype(const Tensor& a, double b) {
  a.require_defined("div");
  return detail::promoted(a.dtype(), b);
}

Tensor converted(const Tensor& x, DType dtype) { return x.to(dtype); }
double converted(double number, DType /*dtype*/) { return number; }

/// B: a tensor or a number.
template <class B>
Tensor rounded_quotient(const Tensor& a, const B& b, Rounding rounding) {
  const DType dtype = quotient_dtype(a, b);
  if (rounding == Rounding::none) return div(a, b);
  if (rounding == Rounding::floor) return divide("div", BinaryOp::floor_divide, a, b);
  // Subtracts the remainder first: then the quotient of the integers is exact.
  if (!is_floating(dtype))
    return divide("div", BinaryOp::floor_divide, sub(a.to(dtype), divide("div", BinaryOp::fmod, a, b)), b);
  const DType computed = compute_dtype(dtype);
  return trunc(div(a.to(computed), converted(b, computed))).to(dtype);
}

}  // namespace

Tensor div(const Tensor& a, const Tensor& b, Rounding rounding) { return rounded_quotient(a, b, rounding); }
Tensor div(const Tensor& a, double b, Rounding rounding) { return rounded_quotient(a, b, rounding); }

Tensor floor_divide(const Tensor& a, const Tensor& b) { return divide("floor_divide", BinaryOp::floor_divide, a, b); }
Tensor floor_divide(const Tensor& a, double b) { return divide("floor_divide", BinaryOp::floor_divide, a, b); }
Tensor fmod(const Tensor& a, const Tensor& b) { return divide("fmod", BinaryOp::fmod, a, b); }
Tensor fmod(const Tensor& a, double b) { return divide("fmod", BinaryOp::fmod, a, b); }
Tensor remainder(const Tensor& a, const Tensor& b) { return divide("remainder", BinaryOp::remainder, a, b); }
Tensor remainder(const Tensor& a, double b) { return divide("remainder", BinaryOp::remainder, a, b); }

Tensor remainder(double a, const Tensor& b) {
  b.require_defined("remainder");
  if (!is_floating(b.dtype()) && any(eq(b, 0.0)).item<bool>()) throw_divided_by_0("remainder");
  return detail::binary("remainder", BinaryOp::remainder, a, b);
}

}  // namespace troupe
