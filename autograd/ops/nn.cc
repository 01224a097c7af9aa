#include "autograd/ops/nn.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/reads.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/decompositions/layer_formulas.h"
#include "tensor/decompositions/loss_formulas.h"
#include "tensor/ops/promotion.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::Saved;
using detail::saved_for;
using detail::value_or_undefined;
using Edges = std::span<const Edge>;

/// Returns (..., n) as (rows, n).
Tensor flat_rows(const Tensor& x) { return x.dim() == 1 ? x.unsqueeze(0) : flatten(x, 0, -2); }

/// Records dropout with a mask of shape `drawn`, which broadcasts to x.
Variable dropped(std::string_view name, const Variable& x, const Shape& drawn, double probability,
                 Generator& generator) {
  const Tensor value = x.value();
  const Tensor mask =
      dropout_mask(drawn, probability, detail::generator_here(generator), value.dtype(), value.device());
  return record(name, mul(value, mask), edges_of({&x}),
                [mask = Saved(mask)](const Tensor& g) { return mul(g, mask.get()); });
}

void check_linear(const Tensor& x, const Tensor& weight) {
  if (weight.dim() != 2 || x.dim() < 1 || x.size(-1) != weight.size(1)) {
    throw ShapeError(
        fmt::format("[linear] sizes differ: x {}, weight {}", to_string(x.shape()), to_string(weight.shape())));
  }
}

void check_linear_bias(const Tensor& bias, const Tensor& product) {
  if (broadcasts_to(bias.shape(), product.shape())) return;
  throw ShapeError(
      fmt::format("[linear] bias does not fit: {} for {}", to_string(bias.shape()), to_string(product.shape())));
}

}  // namespace

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  const auto [in, w] = detail::values_of(x, weight);
  const Tensor b = value_or_undefined(bias);
  check_linear(in, w);
  Tensor result = matmul(in, w.transpose());
  if (b.defined()) {
    check_linear_bias(b, result);
    result = add(result, b);
  }
  return record("linear", std::move(result), edges_of({&x, &weight, &bias}),
                [x_layout = Layout(in), w_layout = Layout(w), b_layout = b.defined() ? Layout(b) : Layout(w),
                 in = saved_for(weight, in), w = saved_for(x, w)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(3);
                  if (to[0]) gradients[0] = matmul(g, w.get()).to(x_layout.dtype);
                  if (to[1]) {
                    gradients[1] = matmul(flat_rows(g).transpose(), flat_rows(in.get())).to(w_layout.dtype);
                  }
                  if (to[2]) gradients[2] = detail::reduce_to(b_layout, g);
                  return gradients;
                });
}

Variable softmax(const Variable& x, int dim) {
  const Tensor result = softmax(x.value(), dim);
  return record("softmax", result, edges_of({&x}),
                [y = Saved(result), dim](const Tensor& g) { return softmax_backward(g, y.get(), dim); });
}

Variable log_softmax(const Variable& x, int dim) {
  const Tensor result = log_softmax(x.value(), dim);
  return record("log_softmax", result, edges_of({&x}),
                [y = Saved(result), dim](const Tensor& g) { return log_softmax_backward(g, y.get(), dim); });
}

Variable softmin(const Variable& x, int dim) { return softmax(neg(x), dim); }

Variable cosine_similarity(const Variable& a, const Variable& b, int dim, double eps) {
  if (!(eps > 0.0)) throw ValueError(fmt::format("[cosine_similarity] eps not above 0: {}", eps));
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const auto inputs = detail::one_version_of(a, b);
  const Shape shape = broadcast_shapes("cosine_similarity", inputs[0].shape(), inputs[1].shape());
  const DType dtype = detail::promoted(inputs[0].value(), inputs[1].value());
  const Variable x = detail::in_dtype(inputs[0], DType::f64);  // the products of large f32 are infinite in f32
  const Variable y = same(inputs[0], inputs[1]) ? x : detail::in_dtype(inputs[1], DType::f64);
  const auto size_of = [&](const Variable& of) { return clamp(norm(expand(of, shape), 2.0, dim), eps, kEndless); };
  const Variable cosine = div(div(sum(mul(x, y), dim), size_of(x)), size_of(y));
  return detail::rounded(detail::in_dtype(cosine, compute_dtype(promote_to_floating(dtype))), dtype);
}

Variable pairwise_distance(const Variable& a, const Variable& b, double p, double eps, KeepDim keep) {
  return detail::pairwise_distance_formula("pairwise_distance", a, b, p, eps, keep);
}

Variable normalize(const Variable& x, double p, int dim, double eps) {
  const Variable in = detail::wide(detail::as_it_is(x));
  const Variable size = norm(in, p, normalize_dim("normalize", dim, in.shape()), KeepDim::yes);
  return detail::rounded(div(in, clamp(size, eps, std::numeric_limits<double>::infinity())), x.dtype());
}

Variable bilinear(const Variable& a, const Variable& b, const Variable& weight, const Variable& bias) {
  const auto [left, right] = detail::one_version_of(a, b);
  return detail::bilinear_formula(left, right, weight, bias);
}

Variable local_response_norm(const Variable& x, std::int64_t size, double alpha, double beta, double k) {
  return detail::local_response_norm_formula(detail::as_it_is(x), size, alpha, beta, k);
}

Variable dropout(const Variable& x, double probability, Generator& generator) {
  return dropped("dropout", x, x.shape(), probability, generator);
}

Variable dropout1d(const Variable& x, double probability, Generator& generator) {
  Shape shape = x.shape();
  if (shape.size() != 2 && shape.size() != 3) {
    throw ShapeError(fmt::format("[dropout1d] not (n, channels, length): {}", to_string(shape)));
  }
  shape[shape.size() - 1] = 1;
  return dropped("dropout1d", x, shape, probability, generator);
}

Variable dropout2d(const Variable& x, double probability, Generator& generator) {
  const Shape shape = x.shape();
  if (shape.size() != 4) throw ShapeError(fmt::format("[dropout2d] not (n, channels, h, w): {}", to_string(shape)));
  return dropped("dropout2d", x, {shape[0], shape[1], 1, 1}, probability, generator);
}

}  // namespace troupe
