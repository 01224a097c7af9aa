#include "autograd/ops.h"
#include "autograd/record.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::saved_for;
using Edges = std::span<const Edge>;

/// `shape` with size 1 along `axes`: what a reduction has with KeepDim::yes.
Shape reduced_shape(std::string_view op, const Shape& shape, const Axes& axes) {
  Shape reduced = shape;
  for (int axis : axes.values()) reduced[normalize_dim(op, axis, shape)] = 1;
  return reduced;
}

/// The gradient of each summand, as a view that repeats elements.
auto repeat_to(const Shape& reduced, const Shape& shape) {
  return [reduced, shape](const Tensor& g) { return g.reshape(reduced).expand(shape); };
}

/// `x` as matrices: a vector becomes one row (or one column).
Tensor as_rows(const Tensor& x) { return x.dim() == 1 ? x.unsqueeze(0) : x; }
Tensor as_columns(const Tensor& x) { return x.dim() == 1 ? x.unsqueeze(1) : x; }

/// The gradient of a product with the dimensions that matmul dropped for vectors.
Tensor product_gradient(Tensor g, int a_dims, int b_dims) {
  if (b_dims == 1) g = g.unsqueeze(g.dim());
  if (a_dims == 1) g = g.unsqueeze(g.dim() - 1);
  return g;
}

/// a^T g, summed over the batch to the shape of b. One product where b has no batch.
Tensor right_gradient(const Tensor& a, const Tensor& g, const Shape& b) {
  if (b.size() > 2) return sum_to(matmul(a.transpose(), g), b);
  return matmul(flatten(a, 0, -2).transpose(), flatten(g, 0, -2));
}

}  // namespace

Variable sum(const Variable& x) {
  const Tensor value = x.value();
  return record("sum", sum(value), edges_of({&x}),
                [shape = value.shape()](const Tensor& g) { return g.expand(shape); });
}

Variable sum(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  Tensor result = sum(value, axes, keep);
  return record("sum", std::move(result), edges_of({&x}),
                repeat_to(reduced_shape("sum", value.shape(), axes), value.shape()));
}

Variable mean(const Variable& x) {
  const Tensor value = x.value();
  return record("mean", mean(value), edges_of({&x}), [shape = value.shape(), count = value.numel()](const Tensor& g) {
    return div(g, static_cast<double>(count)).expand(shape);
  });
}

Variable mean(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  Tensor result = mean(value, axes, keep);
  const Shape reduced = reduced_shape("mean", value.shape(), axes);
  const double count = static_cast<double>(value.numel()) / static_cast<double>(reduced.numel());
  return record("mean", std::move(result), edges_of({&x}),
                [repeat = repeat_to(reduced, value.shape()), count](const Tensor& g) { return repeat(div(g, count)); });
}

Variable cumsum(const Variable& x, int dim) {
  const Tensor value = x.value();
  return record("cumsum", cumsum(value, dim), edges_of({&x}), [dim](const Tensor& g) { return cumsum_backward(g, dim); });
}

Variable matmul(const Variable& a, const Variable& b) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  return record("matmul", matmul(x, y), edges_of({&a, &b}),
                [x_layout = detail::Layout(x), y_layout = detail::Layout(y), x = saved_for(b, x), y = saved_for(a, y)](
                    const Tensor& gradient, Edges to) {
                  const Tensor g = product_gradient(gradient, x_layout.shape.size(), y_layout.shape.size());
                  std::vector<Tensor> gradients(2);
                  if (to[0]) {
                    const Tensor rows = matmul(g, as_columns(y.get()).transpose());
                    gradients[0] = x_layout.shape.size() == 1 ? sum_to(rows.select(-2, 0), x_layout.shape)
                                                              : sum_to(rows, x_layout.shape);
                    gradients[0] = gradients[0].to(x_layout.dtype);
                  }
                  if (to[1]) {
                    const Shape columns = y_layout.shape.size() == 1 ? Shape{y_layout.shape[0], 1} : y_layout.shape;
                    gradients[1] = right_gradient(as_rows(x.get()), g, columns);
                    gradients[1] = gradients[1].reshape(y_layout.shape).to(y_layout.dtype);
                  }
                  return gradients;
                });
}

}  // namespace troupe
