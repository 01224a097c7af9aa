#include "autograd/ops/products.h"

#include <cstdint>
#include <initializer_list>
#include <span>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/decompositions/product_plan.h"
#include "tensor/ops/promotion.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::Saved;
using Edges = std::span<const Edge>;

/// Returns the gradient by rows `x` of their distances to rows `y`. `share` (..., rows of x, rows of y) is the gradient
/// by each distance, divided by that distance. As exact as the distances: by differences where cdist computes them.
Tensor gradient_of_rows(const Layout& layout, const Tensor& x, const Tensor& y, const Tensor& share) {
  const std::int64_t count = y.size(-2);
  if (count == 0 || !detail::has_few_rows(x.shape(), y.shape())) {
    return detail::reduce_to(layout, sub(mul(x, sum(share, -1, KeepDim::yes)), matmul(share, y)));
  }
  const auto pull_of = [&](std::int64_t row) { return mul(sub(x, narrow(y, -2, row, 1)), narrow(share, -1, row, 1)); };
  Tensor total = pull_of(0);
  for (std::int64_t row = 1; row < count; ++row) total = add(total, pull_of(row));
  return detail::reduce_to(layout, total);
}

}  // namespace

Variable tensordot(const Variable& a, const Variable& b, const Axes& a_axes, const Axes& b_axes) {
  return einsum(detail::tensordot_equation(a.shape(), b.shape(), a_axes, b_axes), {a, b});
}

Variable tensordot(const Variable& a, const Variable& b, int count) {
  return einsum(detail::tensordot_equation(a.shape(), b.shape(), count), {a, b});
}

Variable kron(const Variable& a, const Variable& b) {
  const auto [left, right] = detail::one_version_of(a, b);
  const detail::KronShapes shapes = detail::kron_shapes(left.shape(), right.shape());
  return reshape(mul(reshape(left, shapes.a), reshape(right, shapes.b)), shapes.result);
}

Variable cross(const Variable& a, const Variable& b, int dim) {
  const auto [x, y] = detail::one_version_of(a, b);
  const int at = detail::cross_dim(x.shape(), y.shape(), dim);
  const Variable left = detail::wide(x), right = detail::wide(y);
  const Variable result =
      sub(mul(roll(left, -1, at), roll(right, -2, at)), mul(roll(left, -2, at), roll(right, -1, at)));
  return detail::rounded(result, detail::promoted(x.value(), y.value()));
}

Variable cdist(const Variable& a, const Variable& b, double p) {
  const auto [x, y] = detail::values_of(a, b);
  if (p != 2.0) {
    detail::require_rows(x.shape(), y.shape(), p);
    const auto [rows, columns] = detail::one_version_of(a, b);
    const Variable differences = sub(unsqueeze(detail::wide(rows), -2), unsqueeze(detail::wide(columns), -3));
    return detail::rounded(norm(differences, detail::difference_exponent(x.shape(), p), -1),
                           promote(x.dtype(), y.dtype()));
  }
  const Tensor result = cdist(x, y);
  return record("cdist", result, edges_of({&a, &b}),
                [x_layout = Layout(x), y_layout = Layout(y), x = Saved(x), y = Saved(y), distances = Saved(result)](
                    const Tensor& g, Edges to) {
                  const DType dtype = compute_dtype(g.dtype());
                  const Tensor left = x.get().to(dtype);
                  const Tensor right = y.get().to(dtype);
                  const Tensor share =
                      masked_fill(div(g.to(dtype), distances.get().to(dtype)), eq(distances.get(), 0.0), 0.0);
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = gradient_of_rows(x_layout, left, right, share);
                  if (to[1]) gradients[1] = gradient_of_rows(y_layout, right, left, share.transpose());
                  return gradients;
                });
}

}  // namespace troupe
