// Losses composed of other operations, each written once for tensors and for variables (X), which have the same
// operations. REQUIRES: the including file declares the operations of X first.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <type_traits>

#include "tensor/create.h"
#include "tensor/decompositions/product_plan.h"
#include "tensor/decompositions/rounding.h"
#include "tensor/ops/activation.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/index.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/margin_loss.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe::detail {

// Checks; they throw as the losses of ops/margin_loss.h and ops/loss.h.

void require_last_dim(std::string_view op, const Shape& shape);
/// Checks that `a` and `b` have equal shapes and each row has a target.
void require_rows(std::string_view op, const Shape& a, const Shape& b, const Shape& target);
void require_margins(std::string_view op, const Shape& x, const Shape& target, const MultiMarginLossOptions& options);
/// Returns the shape in which `var` broadcasts to `x`.
[[nodiscard]] Shape variance_shape(std::string_view op, const Shape& x, const Tensor& var);

template <class X>
Tensor value_of(const X& x) {
  if constexpr (std::is_same_v<X, Tensor>) return x;
  else return x.value();
}

/// Returns the losses of wide() operands or their sum or mean, in `dtype` if that is f16 or bf16.
template <class X>
X reduced(const X& losses, Reduction reduction, DType dtype) {
  if (reduction == Reduction::none) return rounded(losses, dtype);
  return rounded(reduction == Reduction::sum ? sum(losses) : mean(losses), dtype);
}

/// max(x, 0), whose gradient at 0 is 1.
template <class X>
X not_negative(const X& x) {
  return clamp(x, 0.0, std::numeric_limits<double>::infinity());
}

template <class X>
X where_target(const Tensor& condition, const X& x) {
  return where(condition, x, X(zeros({}, value_of(x).dtype(), value_of(x).device())));
}

template <class X>
X pairwise_distance_formula(std::string_view op, const X& a, const X& b, double p, double eps,
                            KeepDim keep = KeepDim::no) {
  require_together(op, value_of(a), value_of(b));
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  require_last_dim(op, shape);
  return rounded(norm(add(sub(wide(a), wide(b)), eps), difference_exponent(shape, p), -1, keep),
                 promoted(value_of(a), value_of(b)));
}

template <class X>
X margin_ranking_formula(const X& a, const X& b, const Tensor& target, const MarginRankingLossOptions& options) {
  constexpr std::string_view kOp = "margin_ranking_loss";
  require_together(kOp, value_of(a), target);
  (void)broadcast_shapes(kOp, broadcast_shapes(kOp, a.shape(), b.shape()), target.shape());
  const X losses = not_negative(add(mul(X(neg(target)), sub(wide(a), wide(b))), options.margin));
  const Tensor first = value_of(a), second = value_of(b);
  return reduced(losses, options.reduction, promoted({&first, &second, &target}));
}

template <class X>
X hinge_embedding_formula(const X& x, const Tensor& target, const HingeEmbeddingLossOptions& options) {
  constexpr std::string_view kOp = "hinge_embedding_loss";
  require_together(kOp, value_of(x), target);
  (void)broadcast_shapes(kOp, x.shape(), target.shape());
  const X in = wide(x);
  const X far = where_target(ne(target, 1.0), not_negative(sub(options.margin, in)));
  return reduced(add(far, where_target(ne(target, -1.0), in)), options.reduction, x.dtype());
}

template <class X>
X cosine_embedding_formula(const X& a, const X& b, const Tensor& target, const CosineEmbeddingLossOptions& options) {
  constexpr std::string_view kOp = "cosine_embedding_loss";
  constexpr double kTiny = 1e-12;  // as torch
  require_together(kOp, value_of(a), value_of(b));
  require_together(kOp, value_of(a), target);
  require_rows(kOp, a.shape(), b.shape(), target.shape());
  const X left = wide(a), right = wide(b);
  const auto square = [&](const X& x) { return add(sum(mul(x, x), -1), kTiny); };
  const X cosine = div(sum(mul(left, right), -1), sqrt(mul(square(left), square(right))));
  const X near = where_target(eq(target, 1.0), sub(1.0, cosine));
  const X far = where_target(eq(target, -1.0), not_negative(sub(cosine, options.margin)));
  return reduced(add(near, far), options.reduction, promoted(value_of(a), value_of(b)));
}

template <class X>
X triplet_margin_formula(const X& anchor, const X& positive, const X& negative,
                         const TripletMarginLossOptions& options) {
  const auto distance = [&](const X& a, const X& b) {
    return pairwise_distance_formula("triplet_margin_loss", a, b, options.p, options.eps);
  };
  const X from = wide(anchor), there = wide(positive), elsewhere = wide(negative);
  const X near = distance(from, there);
  X far = distance(from, elsewhere);
  if (options.swap) far = minimum(far, distance(there, elsewhere));
  const Tensor a = value_of(anchor), b = value_of(positive), c = value_of(negative);
  return reduced(not_negative(add(sub(near, far), options.margin)), options.reduction, promoted({&a, &b, &c}));
}

template <class X>
X soft_margin_formula(const X& x, const Tensor& target, Reduction reduction) {
  require_together("soft_margin_loss", value_of(x), target);
  require_same_shape("soft_margin_loss", value_of(x), target);
  const X losses = softplus(mul(X(neg(target)), wide(x)), 1.0, std::numeric_limits<double>::infinity());
  return reduced(losses, reduction, promoted(value_of(x), target));
}

template <class X>
X multi_margin_formula(const X& x, const Tensor& target, const MultiMarginLossOptions& options) {
  constexpr std::string_view kOp = "multi_margin_loss";
  require_together(kOp, value_of(x), target);
  require_margins(kOp, x.shape(), target.shape(), options);
  const std::int64_t classes = x.shape().back();
  const Tensor right = checked_index(kOp, target, classes).reshape({-1});
  const X rows = reshape(wide(x), {right.numel(), classes});
  X over = relu(add(sub(rows, gather(rows, 1, right.unsqueeze(1))), options.margin));
  if (options.p == 2) over = mul(over, over);
  DType dtype = x.dtype();
  if (options.weight.defined()) {
    over = mul(over, X(index_select(options.weight, 0, right).unsqueeze(1)));
    dtype = promote(dtype, options.weight.dtype());
  }
  over = masked_fill(over, one_hot(right, classes, DType::boolean), 0.0);
  const X losses = reshape(div(sum(over, 1), static_cast<double>(classes)), target.shape());
  return reduced(losses, options.reduction, dtype);
}

template <class X>
X poisson_nll_formula(const X& x, const Tensor& target, const PoissonNllLossOptions& options) {
  constexpr std::string_view kOp = "poisson_nll_loss";
  require_together(kOp, value_of(x), target);
  (void)broadcast_shapes(kOp, x.shape(), target.shape());
  const X in = wide(x), wanted(target);
  X losses = options.log_input ? sub(exp(in), mul(wanted, in)) : sub(in, mul(wanted, log(add(in, options.eps))));
  if (options.full) {
    const Tensor t = wide(target.to(promote_to_floating(target.dtype())));
    const Tensor stirling = add(sub(mul(t, log(t)), t), mul(log(mul(t, 2.0 * std::numbers::pi)), 0.5));
    losses = add(losses, X(where_target(gt(t, 1.0), stirling)));
  }
  return reduced(losses, options.reduction, promoted(value_of(x), target));
}

template <class X>
X gaussian_nll_formula(const X& x, const X& target, const X& var, const GaussianNllLossOptions& options) {
  constexpr std::string_view kOp = "gaussian_nll_loss";
  require_together(kOp, value_of(x), value_of(target));
  require_together(kOp, value_of(x), value_of(var));
  (void)broadcast_shapes(kOp, x.shape(), target.shape());
  const X spread = wide(var);
  const Tensor given = value_of(spread);
  const Shape shape = variance_shape(kOp, x.shape(), given);
  // A variance below eps is raised to eps; its gradient is the one at eps.
  const Tensor lift = where_target(lt(given, options.eps), sub(options.eps, given));
  const X floored = reshape(add(spread, X(lift)), shape);
  const X miss = sub(wide(x), wide(target));
  X losses = mul(add(log(floored), div(mul(miss, miss), floored)), 0.5);
  if (options.full) losses = add(losses, 0.5 * std::log(2.0 * std::numbers::pi));
  const Tensor mean = value_of(x), wanted = value_of(target), before = value_of(var);
  return reduced(losses, options.reduction, promoted({&mean, &wanted, &before}));
}

}  // namespace troupe::detail
