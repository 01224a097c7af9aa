#include "tensor/ops/rvalue.h"

#include <string_view>
#include <utility>

#include "tensor/kernels/table.h"
#include "tensor/ops/activation.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/deferred_ops.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/trigonometry.h"

namespace troupe {
namespace {

using detail::compute_in;
using detail::is_reusable;
using kernels::BinaryOp;
using kernels::UnaryOp;
using Left = detail::DeferredOps::Left;

// Returns whether op on `dead` and `other`, in any order, may write into `dead`. False for erroneous arguments.
bool fits(BinaryOp op, const Tensor& dead, const Tensor& other) {
  if (!dead.defined() || !other.defined() || dead.device() != other.device() || dead.dtype() == DType::boolean)
    return false;
  const DType dtype = detail::result_dtype(op, detail::promoted(dead, other));
  return is_reusable(dead, dead.shape(), dtype) && broadcasts_to(other.shape(), dead.shape());
}

Tensor binary(std::string_view name, BinaryOp op, Tensor&& a, const Tensor& b) {
  if (!fits(op, a, b)) return detail::binary(name, op, a, b);
  compute_in(a, op, Left::result, b.to(a.dtype()));
  return std::move(a);
}

Tensor binary(std::string_view name, BinaryOp op, const Tensor& a, Tensor&& b) {
  if (!fits(op, b, a)) return detail::binary(name, op, a, b);
  compute_in(b, op, Left::operand, a.to(b.dtype()));
  return std::move(b);
}

Tensor binary(std::string_view name, BinaryOp op, Tensor&& a, Tensor&& b) {
  if (fits(op, a, b)) return binary(name, op, std::move(a), std::as_const(b));
  return binary(name, op, std::as_const(a), std::move(b));
}

// Returns whether op with a number may write into `dead`. As in detail::binary(), its dtype need not hold the number.
bool fits(BinaryOp op, const Tensor& dead) {
  return dead.defined() && is_floating(dead.dtype()) &&
         is_reusable(dead, dead.shape(), detail::result_dtype(op, dead.dtype()));
}

Tensor binary(std::string_view name, BinaryOp op, Tensor&& a, double b) {
  if (!fits(op, a)) return detail::binary(name, op, a, b);
  compute_in(a, op, Left::result, b);
  return std::move(a);
}

Tensor binary(std::string_view name, BinaryOp op, double a, Tensor&& b) {
  if (!fits(op, b)) return detail::binary(name, op, a, b);
  compute_in(b, op, Left::operand, a);
  return std::move(b);
}

Tensor unary(std::string_view name, UnaryOp op, Tensor&& x) {
  const bool fits =
      x.defined() && x.dtype() != DType::boolean && is_reusable(x, x.shape(), detail::result_dtype(op, x.dtype()));
  if (!fits) return detail::unary(name, op, x);
  kernels_of(x).unary(op, x, std::as_const(x));
  return std::move(x);
}

}  // namespace

Tensor add(Tensor&& a, const Tensor& b) { return binary("add", BinaryOp::add, std::move(a), b); }
Tensor add(const Tensor& a, Tensor&& b) { return binary("add", BinaryOp::add, a, std::move(b)); }
Tensor add(Tensor&& a, Tensor&& b) { return binary("add", BinaryOp::add, std::move(a), std::move(b)); }
Tensor add(Tensor&& a, double b) { return binary("add", BinaryOp::add, std::move(a), b); }
Tensor sub(Tensor&& a, const Tensor& b) { return binary("sub", BinaryOp::sub, std::move(a), b); }
Tensor sub(const Tensor& a, Tensor&& b) { return binary("sub", BinaryOp::sub, a, std::move(b)); }
Tensor sub(Tensor&& a, Tensor&& b) { return binary("sub", BinaryOp::sub, std::move(a), std::move(b)); }
Tensor sub(Tensor&& a, double b) { return binary("sub", BinaryOp::sub, std::move(a), b); }
Tensor sub(double a, Tensor&& b) { return binary("sub", BinaryOp::sub, a, std::move(b)); }
Tensor mul(Tensor&& a, const Tensor& b) { return binary("mul", BinaryOp::mul, std::move(a), b); }
Tensor mul(const Tensor& a, Tensor&& b) { return binary("mul", BinaryOp::mul, a, std::move(b)); }
Tensor mul(Tensor&& a, Tensor&& b) { return binary("mul", BinaryOp::mul, std::move(a), std::move(b)); }
Tensor mul(Tensor&& a, double b) { return binary("mul", BinaryOp::mul, std::move(a), b); }
Tensor div(Tensor&& a, const Tensor& b) { return binary("div", BinaryOp::div, std::move(a), b); }
Tensor div(const Tensor& a, Tensor&& b) { return binary("div", BinaryOp::div, a, std::move(b)); }
Tensor div(Tensor&& a, Tensor&& b) { return binary("div", BinaryOp::div, std::move(a), std::move(b)); }
Tensor div(Tensor&& a, double b) { return binary("div", BinaryOp::div, std::move(a), b); }
Tensor div(double a, Tensor&& b) { return binary("div", BinaryOp::div, a, std::move(b)); }

Tensor neg(Tensor&& x) { return unary("neg", UnaryOp::neg, std::move(x)); }
Tensor abs(Tensor&& x) { return unary("abs", UnaryOp::abs, std::move(x)); }
Tensor exp(Tensor&& x) { return unary("exp", UnaryOp::exp, std::move(x)); }
Tensor log(Tensor&& x) { return unary("log", UnaryOp::log, std::move(x)); }
Tensor sqrt(Tensor&& x) { return unary("sqrt", UnaryOp::sqrt, std::move(x)); }
Tensor rsqrt(Tensor&& x) { return unary("rsqrt", UnaryOp::rsqrt, std::move(x)); }
Tensor tanh(Tensor&& x) { return unary("tanh", UnaryOp::tanh, std::move(x)); }
Tensor sigmoid(Tensor&& x) { return unary("sigmoid", UnaryOp::sigmoid, std::move(x)); }
Tensor relu(Tensor&& x) { return unary("relu", UnaryOp::relu, std::move(x)); }
Tensor silu(Tensor&& x) { return unary("silu", UnaryOp::silu, std::move(x)); }

}  // namespace troupe
