#include "tensor/ops/products.h"

#include "tensor/decompositions/product_plan.h"
#include "tensor/decompositions/rounding.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {

Tensor tensordot(const Tensor& a, const Tensor& b, const Axes& a_axes, const Axes& b_axes) {
  detail::require_together("tensordot", a, b);
  return einsum(detail::tensordot_equation(a.shape(), b.shape(), a_axes, b_axes), {a, b});
}

Tensor tensordot(const Tensor& a, const Tensor& b, int count) {
  detail::require_together("tensordot", a, b);
  return einsum(detail::tensordot_equation(a.shape(), b.shape(), count), {a, b});
}

Tensor kron(const Tensor& a, const Tensor& b) {
  detail::require_together("kron", a, b);
  const detail::KronShapes shapes = detail::kron_shapes(a.shape(), b.shape());
  return mul(a.reshape(shapes.a), b.reshape(shapes.b)).view(shapes.result);
}

Tensor cross(const Tensor& a, const Tensor& b, int dim) {
  detail::require_together("cross", a, b);
  const int at = detail::cross_dim(a.shape(), b.shape(), dim);
  const Tensor x = detail::wide(a), y = detail::wide(b);
  const Tensor result = sub(mul(roll(x, -1, at), roll(y, -2, at)), mul(roll(x, -2, at), roll(y, -1, at)));
  return detail::rounded(result, detail::promoted(a, b));
}

}  // namespace troupe
