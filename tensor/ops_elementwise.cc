#include <fmt/format.h>

#include "tensor/checks.h"
#include "tensor/cpu/elementwise.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using cpu::BinaryOp;
using cpu::CompareOp;
using cpu::UnaryOp;

bool is_real(BinaryOp op) { return op >= BinaryOp::div; }
bool is_real(UnaryOp op) { return op >= UnaryOp::exp; }

// A scalar operand: the tensor's dtype, raised to floating for functions of reals.
Tensor operand(std::string_view op, const Tensor& x, double value, bool real) {
  x.require_defined(op);
  const DType dtype = real ? promote_to_floating(x.dtype()) : x.dtype();
  detail::require_value_of(op, value, dtype);
  return full({}, value, dtype, x.device());
}

Tensor unary(std::string_view name, UnaryOp op, const Tensor& x) {
  x.require_defined(name);
  if (x.dtype() == DType::boolean && !is_real(op)) throw DTypeError(fmt::format("[{}] not defined for boolean", name));
  const Tensor a = is_real(op) ? x.to(promote_to_floating(x.dtype())) : x;
  Tensor out = Tensor::empty(x.shape(), a.dtype(), x.device());
  cpu::unary(op, out, a);
  return out;
}

Tensor binary(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b) {
  detail::require_together(name, a, b);
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  DType dtype = promote(a.dtype(), b.dtype());
  if (is_real(op)) dtype = promote_to_floating(dtype);
  if (dtype == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", name));
  Tensor out = Tensor::empty(shape, dtype, a.device());
  cpu::binary(op, out, a.to(dtype).expand(shape), b.to(dtype).expand(shape));
  return out;
}

Tensor compare(std::string_view name, CompareOp op, const Tensor& a, const Tensor& b) {
  detail::require_together(name, a, b);
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  Tensor out = Tensor::empty(shape, DType::boolean, a.device());
  cpu::compare(op, out, a.to(dtype).expand(shape), b.to(dtype).expand(shape));
  return out;
}

// Whether writing `out` element by element could change elements of `x` that are still to be read.
bool overlaps(const Tensor& out, const Tensor& x) {
  return out.storage().same_as(x.storage()) && (out.offset() != x.offset() || out.strides() != x.strides());
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return binary("add", BinaryOp::add, a, b); }
Tensor add(const Tensor& a, double b) { return add(a, operand("add", a, b, false)); }
Tensor sub(const Tensor& a, const Tensor& b) { return binary("sub", BinaryOp::sub, a, b); }
Tensor sub(const Tensor& a, double b) { return sub(a, operand("sub", a, b, false)); }
Tensor sub(double a, const Tensor& b) { return sub(operand("sub", b, a, false), b); }
Tensor mul(const Tensor& a, const Tensor& b) { return binary("mul", BinaryOp::mul, a, b); }
Tensor mul(const Tensor& a, double b) { return mul(a, operand("mul", a, b, false)); }
Tensor div(const Tensor& a, const Tensor& b) { return binary("div", BinaryOp::div, a, b); }
Tensor div(const Tensor& a, double b) { return div(a, operand("div", a, b, true)); }
Tensor div(double a, const Tensor& b) { return div(operand("div", b, a, true), b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary("maximum", BinaryOp::maximum, a, b); }
Tensor maximum(const Tensor& a, double b) { return maximum(a, operand("maximum", a, b, false)); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary("minimum", BinaryOp::minimum, a, b); }
Tensor minimum(const Tensor& a, double b) { return minimum(a, operand("minimum", a, b, false)); }

Tensor pow(const Tensor& x, double exponent) {
  x.require_defined("pow");
  // The exact ways for the exponents that matter most; std::pow takes 20 times as long.
  if (exponent == 1.0) return x.to(promote_to_floating(x.dtype())).clone();
  if (exponent == 2.0) return binary("pow", BinaryOp::mul, x.to(promote_to_floating(x.dtype())), x);
  return binary("pow", BinaryOp::pow, x, operand("pow", x, exponent, true));
}

Tensor neg(const Tensor& x) { return unary("neg", UnaryOp::neg, x); }
Tensor abs(const Tensor& x) { return unary("abs", UnaryOp::abs, x); }
Tensor exp(const Tensor& x) { return unary("exp", UnaryOp::exp, x); }
Tensor log(const Tensor& x) { return unary("log", UnaryOp::log, x); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", UnaryOp::sqrt, x); }
Tensor tanh(const Tensor& x) { return unary("tanh", UnaryOp::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary("sigmoid", UnaryOp::sigmoid, x); }
Tensor relu(const Tensor& x) { return unary("relu", UnaryOp::relu, x); }

Tensor relu_backward(const Tensor& grad, const Tensor& output) {
  detail::require_together("relu_backward", grad, output);
  detail::require_same_shape("relu_backward", grad, output);
  return binary("relu_backward", BinaryOp::relu_backward, grad, output);
}

Tensor clamp(const Tensor& x, double low, double high) {
  if (low > high) throw ValueError(fmt::format("[clamp] low above high: {} > {}", low, high));
  return binary("clamp", BinaryOp::minimum, binary("clamp", BinaryOp::maximum, x, operand("clamp", x, low, false)),
                operand("clamp", x, high, false));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  detail::require_together("where", condition, a);
  detail::require_together("where", condition, b);
  if (condition.dtype() != DType::boolean) {
    throw DTypeError(fmt::format("[where] condition is {}, not boolean", name_of(condition.dtype())));
  }
  const Shape shape = broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const DType dtype = promote(a.dtype(), b.dtype());
  Tensor out = Tensor::empty(shape, dtype, a.device());
  cpu::select(out, condition.expand(shape), a.to(dtype).expand(shape), b.to(dtype).expand(shape));
  return out;
}

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", CompareOp::eq, a, b); }
Tensor eq(const Tensor& a, double b) { return eq(a, operand("eq", a, b, false)); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", CompareOp::ne, a, b); }
Tensor ne(const Tensor& a, double b) { return ne(a, operand("ne", a, b, false)); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", CompareOp::lt, a, b); }
Tensor lt(const Tensor& a, double b) { return lt(a, operand("lt", a, b, false)); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", CompareOp::le, a, b); }
Tensor le(const Tensor& a, double b) { return le(a, operand("le", a, b, false)); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", CompareOp::lt, b, a); }
Tensor gt(const Tensor& a, double b) { return gt(a, operand("gt", a, b, false)); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", CompareOp::le, b, a); }
Tensor ge(const Tensor& a, double b) { return ge(a, operand("ge", a, b, false)); }

void axpby_into(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  constexpr std::string_view kName = "axpby_into";
  for (const Tensor* x : {&a, &b}) {
    detail::require_together(kName, out, *x);
    detail::require_same_shape(kName, out, *x);
    detail::require_same_dtype(kName, out, *x);
  }
  if (!is_floating(out.dtype())) detail::throw_not_floating(kName, out.dtype());
  detail::require_distinct_elements(kName, out);
  cpu::axpby(out, alpha, overlaps(out, a) ? a.clone() : a, beta, overlaps(out, b) ? b.clone() : b);
}

void add_into(Tensor& out, const Tensor& a) {
  constexpr std::string_view kName = "add_into";
  detail::require_together(kName, out, a);
  detail::require_same_shape(kName, out, a);
  detail::require_same_dtype(kName, out, a);
  if (out.dtype() == DType::boolean) throw DTypeError("[add_into] not defined for boolean");
  detail::require_distinct_elements(kName, out);
  cpu::binary(BinaryOp::add, out, out, overlaps(out, a) ? a.clone() : a);
}

void scale_into(Tensor& out, double alpha) {
  constexpr std::string_view kName = "scale_into";
  const Tensor factor = operand(kName, out, alpha, false);
  if (out.dtype() == DType::boolean) throw DTypeError("[scale_into] not defined for boolean");
  detail::require_distinct_elements(kName, out);
  cpu::binary(BinaryOp::mul, out, out, factor.expand(out.shape()));
}

}  // namespace troupe
