#include "tensor/ops/nn.h"

#include <fmt/format.h>

#include <cmath>

#include "tensor/create.h"
#include "tensor/decompositions/layer_formulas.h"
#include "tensor/decompositions/loss_formulas.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using kernels::SoftmaxKind;

Tensor softmax_along(std::string_view name, SoftmaxKind kind, const Tensor& x, int dim) {
  x.require_defined(name);
  const Shape lines = joined_around(x.shape(), normalize_dim(name, dim, x.shape()));
  const DType dtype = promote_to_floating(x.dtype());
  Tensor out = Tensor::empty(x.shape(), compute_dtype(dtype), x.device());
  Tensor target = out.view(lines);
  kernels_of(target).softmax(kind, target, x.to(out.dtype()).contiguous().view(lines));
  return out.to(dtype);
}

Tensor softmax_backward_along(std::string_view name, SoftmaxKind kind, const Tensor& grad, const Tensor& output,
                              int dim) {
  detail::require_together(name, grad, output);
  detail::require_same_shape(name, grad, output);
  detail::require_same_dtype(name, grad, output);
  if (!is_floating(grad.dtype())) detail::throw_not_floating(name, grad.dtype());
  const Shape lines = joined_around(output.shape(), normalize_dim(name, dim, output.shape()));
  const DType dtype = compute_dtype(output.dtype());
  Tensor out = Tensor::empty(output.shape(), dtype, output.device());
  Tensor target = out.view(lines);
  kernels_of(target).softmax_backward(kind, target, grad.to(dtype).contiguous().view(lines),
                                      output.to(dtype).contiguous().view(lines));
  return out.to(output.dtype());
}

}  // namespace

Tensor softmax(const Tensor& x, int dim) { return softmax_along("softmax", SoftmaxKind::plain, x, dim); }
Tensor log_softmax(const Tensor& x, int dim) { return softmax_along("log_softmax", SoftmaxKind::logarithm, x, dim); }

Tensor softmin(const Tensor& x, int dim) {
  x.require_defined("softmin");
  return softmax(neg(x.to(promote_to_floating(x.dtype()))), dim);
}

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int dim) {
  return softmax_backward_along("softmax_backward", SoftmaxKind::plain, grad, output, dim);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int dim) {
  return softmax_backward_along("log_softmax_backward", SoftmaxKind::logarithm, grad, output, dim);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int dim, double eps) {
  if (!(eps > 0.0)) throw ValueError(fmt::format("[cosine_similarity] eps not above 0: {}", eps));
  detail::require_together("cosine_similarity", a, b);
  const Shape shape = broadcast_shapes("cosine_similarity", a.shape(), b.shape());
  const DType dtype = detail::promoted(a, b);
  const Tensor x = a.to(DType::f64), y = b.to(DType::f64);  // the products of large f32 are infinite in f32
  const auto size_of = [&](const Tensor& of) { return maximum(norm(of.expand(shape), 2.0, dim), eps); };
  const Tensor cosine = div(div(sum(mul(x, y), dim), size_of(x)), size_of(y));
  return detail::rounded(cosine.to(compute_dtype(promote_to_floating(dtype))), dtype);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, KeepDim keep) {
  return detail::pairwise_distance_formula("pairwise_distance", a, b, p, eps, keep);
}

Tensor normalize(const Tensor& x, double p, int dim, double eps) {
  x.require_defined("normalize");
  const Tensor in = detail::wide(x);
  const Tensor size = norm(in, p, normalize_dim("normalize", dim, x.shape()), KeepDim::yes);
  return detail::rounded(div(in, maximum(size, eps)), x.dtype());
}

Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias) {
  detail::require_together("bilinear", a, b);
  detail::require_together("bilinear", a, weight);
  return detail::bilinear_formula(a, b, weight, bias);
}

Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha, double beta, double k) {
  x.require_defined("local_response_norm");
  return detail::local_response_norm_formula(x, size, alpha, beta, k);
}

Tensor dropout_mask(const Shape& shape, double probability, Generator& generator, DType dtype, Device device) {
  if (!(probability >= 0.0 && probability < 1.0)) {
    throw ValueError(fmt::format("[dropout_mask] probability outside [0, 1): {}", probability));
  }
  if (!is_floating(dtype)) detail::throw_not_floating("dropout_mask", dtype);
  require_available("dropout_mask", device);
  Tensor out = Tensor::empty(shape, compute_dtype(dtype), device);
  kernels_of(out).draw_dropout_mask(out, probability, kernels::next_draws(generator, (out.numel() + 3) / 4));
  return out.to(dtype);
}

}  // namespace troupe
