#include "tensor/ops/products.h"

#include "tensor/decompositions/product_plan.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/einsum.h"
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
  return sub(mul(roll(a, -1, at), roll(b, -2, at)), mul(roll(a, -2, at), roll(b, -1, at)));
}

}  // namespace troupe
