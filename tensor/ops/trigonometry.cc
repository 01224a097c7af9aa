#include "tensor/ops/trigonometry.h"

#include "tensor/ops/elementwise.h"

namespace troupe {

using detail::binary;
using detail::unary;
using kernels::BinaryOp;
using kernels::UnaryOp;

Tensor sin(const Tensor& x) { return unary("sin", UnaryOp::sin, x); }
Tensor cos(const Tensor& x) { return unary("cos", UnaryOp::cos, x); }
Tensor tan(const Tensor& x) { return unary("tan", UnaryOp::tan, x); }
Tensor asin(const Tensor& x) { return unary("asin", UnaryOp::asin, x); }
Tensor acos(const Tensor& x) { return unary("acos", UnaryOp::acos, x); }
Tensor atan(const Tensor& x) { return unary("atan", UnaryOp::atan, x); }
Tensor sinh(const Tensor& x) { return unary("sinh", UnaryOp::sinh, x); }
Tensor cosh(const Tensor& x) { return unary("cosh", UnaryOp::cosh, x); }
Tensor tanh(const Tensor& x) { return unary("tanh", UnaryOp::tanh, x); }
Tensor asinh(const Tensor& x) { return unary("asinh", UnaryOp::asinh, x); }
Tensor acosh(const Tensor& x) { return unary("acosh", UnaryOp::acosh, x); }
Tensor atanh(const Tensor& x) { return unary("atanh", UnaryOp::atanh, x); }

Tensor atan2(const Tensor& a, const Tensor& b) { return binary("atan2", BinaryOp::atan2, a, b); }
Tensor hypot(const Tensor& a, const Tensor& b) { return binary("hypot", BinaryOp::hypot, a, b); }

}  // namespace troupe
