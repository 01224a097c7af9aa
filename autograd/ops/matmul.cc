#include "autograd/ops/matmul.h"

#include <utility>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/decompositions/einsum_plan.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::saved_for;
using Edges = std::span<const Edge>;

/// Returns `x` as matrices: a vector becomes one row (or one column).
Tensor as_rows(const Tensor& x) { return x.dim() == 1 ? x.unsqueeze(0) : x; }
Tensor as_columns(const Tensor& x) { return x.dim() == 1 ? x.unsqueeze(1) : x; }

/// Returns the gradient of a product with the dimensions restored that matmul dropped for vectors.
Tensor product_gradient(Tensor g, int a_dims, int b_dims) {
  if (b_dims == 1) g = g.unsqueeze(g.dim());
  if (a_dims == 1) g = g.unsqueeze(g.dim() - 1);
  return g;
}

/// Returns a^T g summed over the batch to the shape of b. One matrix product if b has no batch.
Tensor right_gradient(const Tensor& a, const Tensor& g, const Shape& b) {
  if (b.size() > 2) return sum_to(matmul(a.transpose(), g), b);
  return matmul(flatten(a, 0, -2).transpose(), flatten(g, 0, -2));
}

/// Returns the gradient by the left factor `x` of a product with `y`; `g` includes the dimensions that matmul dropped.
Tensor gradient_of_left(const Layout& x, const Tensor& y, const Tensor& g) {
  const Tensor rows = matmul(g, as_columns(y).transpose());
  return sum_to(x.shape.size() == 1 ? rows.select(-2, 0) : rows, x.shape).to(x.dtype);
}

Tensor gradient_of_right(const Layout& y, const Tensor& x, const Tensor& g) {
  const Shape columns = y.shape.size() == 1 ? Shape{y.shape[0], 1} : y.shape;
  return right_gradient(as_rows(x), g, columns).reshape(y.shape).to(y.dtype);
}

/// Records `value`, the matmul of both values, under `name`.
Variable record_product(std::string_view name, const Variable& a, const Variable& b, const Tensor& x, const Tensor& y,
                        Tensor value) {
  return record(name, std::move(value), edges_of({&a, &b}),
                [x_layout = Layout(x), y_layout = Layout(y), x = saved_for(b, x), y = saved_for(a, y)](
                    const Tensor& gradient, Edges to) {
                  const Tensor g = product_gradient(gradient, x_layout.shape.size(), y_layout.shape.size());
                  return std::vector<Tensor>{to[0] ? gradient_of_left(x_layout, y.get(), g) : Tensor(),
                                             to[1] ? gradient_of_right(y_layout, x.get(), g) : Tensor()};
                });
}

using AddedProduct = Tensor (*)(const Tensor& input, const Tensor& a, const Tensor& b, double beta, double alpha);

/// Records beta * input + alpha * (a x b), which `compute` returns.
Variable record_added_product(std::string_view name, AddedProduct compute, const Variable& input, const Variable& a,
                              const Variable& b, double beta, double alpha) {
  const auto [value, x, y] = detail::values_of(input, a, b);
  return record(name, compute(value, x, y, beta, alpha), edges_of({&input, &a, &b}),
                [layout = Layout(value), x_layout = Layout(x), y_layout = Layout(y), x = saved_for(b, x),
                 y = saved_for(a, y), beta, alpha](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(3);
                  if (to[0]) gradients[0] = detail::reduce_to(layout, beta == 1.0 ? g : mul(detail::wide(g), beta));
                  if (!to[1] && !to[2]) return gradients;
                  const Tensor scaled = alpha == 1.0 ? g : mul(detail::wide(g), alpha);
                  if (to[1]) gradients[1] = gradient_of_left(x_layout, y.get(), scaled);
                  if (to[2]) gradients[2] = gradient_of_right(y_layout, x.get(), scaled);
                  return gradients;
                });
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record_product("matmul", a, b, x, y, matmul(x, y));
}

Variable bmm(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record_product("bmm", a, b, x, y, bmm(x, y));
}

Variable dot(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record_product("dot", a, b, x, y, dot(x, y));
}

Variable mv(const Variable& a, const Variable& v) {
  const auto [x, y] = detail::values_of(a, v);
  return record_product("mv", a, v, x, y, mv(x, y));
}

Variable addmm(const Variable& input, const Variable& a, const Variable& b, double beta, double alpha) {
  return record_added_product("addmm", addmm, input, a, b, beta, alpha);
}

Variable baddbmm(const Variable& input, const Variable& a, const Variable& b, double beta, double alpha) {
  return record_added_product("baddbmm", baddbmm, input, a, b, beta, alpha);
}

Variable outer(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record("outer", outer(x, y), edges_of({&a, &b}),
                [x_layout = Layout(x), y_layout = Layout(y), x = saved_for(b, x), y = saved_for(a, y)](const Tensor& g,
                                                                                                       Edges to) {
                  return std::vector<Tensor>{to[0] ? matmul(g, y.get()).to(x_layout.dtype) : Tensor(),
                                             to[1] ? matmul(x.get(), g).to(y_layout.dtype) : Tensor()};
                });
}

Variable einsum(std::string_view equation, std::span<const Variable> operands) {
  // A single operand is read once, and may itself be the result.
  const std::vector<Variable> inputs =
      operands.size() == 1 ? std::vector<Variable>(operands.begin(), operands.end()) : detail::one_version_of(operands);
  std::vector<Shape> shapes;
  DType dtype = DType::boolean;
  for (const Variable& operand : inputs) {
    shapes.push_back(operand.shape());
    dtype = promote(dtype, operand.dtype());
  }
  const detail::EinsumPlan plan = detail::plan_einsum(equation, shapes);
  if (dtype == DType::boolean) throw DTypeError("[einsum] not defined for boolean");
  const auto in = [](const Variable& x, DType wanted) { return x.dtype() == wanted ? x : cast(x, wanted); };
  std::vector<Variable> converted;
  for (const Variable& operand : inputs) converted.push_back(in(operand, compute_dtype(dtype)));
  return in(detail::run_einsum<Variable>(plan, converted), dtype);
}

Variable einsum(std::string_view equation, std::initializer_list<Variable> operands) {
  return einsum(equation, std::span<const Variable>(operands));
}

}  // namespace troupe
