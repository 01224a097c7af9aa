#include "tensor/ops/exponential.h"

#include <fmt/format.h>

#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/rvalue.h"

namespace troupe {

using detail::binary;
using detail::unary;
using kernels::BinaryOp;
using kernels::UnaryOp;

Tensor exp(const Tensor& x) { return unary("exp", UnaryOp::exp, x); }
Tensor expm1(const Tensor& x) { return unary("expm1", UnaryOp::expm1, x); }
Tensor exp2(const Tensor& x) { return unary("exp2", UnaryOp::exp2, x); }
Tensor log(const Tensor& x) { return unary("log", UnaryOp::log, x); }
Tensor log1p(const Tensor& x) { return unary("log1p", UnaryOp::log1p, x); }
Tensor log2(const Tensor& x) { return unary("log2", UnaryOp::log2, x); }
Tensor log10(const Tensor& x) { return unary("log10", UnaryOp::log10, x); }

Tensor logit(const Tensor& x) { return unary("logit", UnaryOp::logit, x); }

Tensor logit(const Tensor& x, double eps) {
  x.require_defined("logit");
  if (!(eps >= 0.0 && eps <= 0.5)) throw ValueError(fmt::format("[logit] eps not from 0 to 0.5: {}", eps));
  const DType dtype = promote_to_floating(x.dtype());
  // Clamps in the compute dtype: 1 - eps may round to 1 in 16 bits.
  return unary("logit", UnaryOp::logit, clamp(x.to(compute_dtype(dtype)), eps, 1.0 - eps)).to(dtype);
}

Tensor logaddexp(const Tensor& a, const Tensor& b) { return binary("logaddexp", BinaryOp::logaddexp, a, b); }
Tensor xlogy(const Tensor& a, const Tensor& b) { return binary("xlogy", BinaryOp::xlogy, a, b); }
Tensor xlogy(const Tensor& a, double b) { return binary("xlogy", BinaryOp::xlogy, a, b); }
Tensor xlogy(double a, const Tensor& b) { return binary("xlogy", BinaryOp::xlogy, a, b); }

}  // namespace troupe
