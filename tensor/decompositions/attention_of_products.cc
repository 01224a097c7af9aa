#include "tensor/decompositions/attention_of_products.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/index.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {
namespace {

Tensor scores_of(const Tensor& query, const Tensor& key, const kernels::AttentionScores& how) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Tensor scores = mul(matmul(query, key.transpose(-2, -1)), how.scale);
  if (how.mask.defined()) {
    const bool hides = how.mask.dtype() == DType::boolean;
    scores = hides ? masked_fill(scores, logical_not(how.mask), kHidden) : add(scores, how.mask);
  }
  if (!how.causal) return scores;
  const Tensor later = lt(arange(query.size(-2)).unsqueeze(1), arange(key.size(-2)));  // key index > query index
  return masked_fill(scores, later.to(scores.device()), kHidden);
}

/// Applies dropout to `weights` or their gradients: zeroes the dropped ones and scales the others.
Tensor dropped(const Tensor& weights, const kernels::AttentionScores& how) {
  if (!how.dropout) return weights;
  Generator generator = how.dropout->start;
  const double share = std::ldexp(static_cast<double>(how.dropout->limit), -32);
  const Tensor mask = dropout_mask(weights.shape(), share, generator, weights.dtype(), weights.device());
  return mul(weights, mul(gt(mask, 0.0).to(weights.dtype()), how.dropout->kept));
}

}  // namespace

void attention_of_products(Tensor& out, Tensor& sums, const Tensor& query, const Tensor& key, const Tensor& value,
                           const kernels::AttentionScores& how) {
  const Tensor scores = scores_of(query, key, how);
  out.copy_from(matmul(dropped(softmax(scores, -1), how), value));
  const Tensor top = max(scores, -1, KeepDim::yes);
  sums.slice(-1, 0, 1).copy_from(top);
  sums.slice(-1, 1, 2).copy_from(log(sum(exp(sub(scores, top)), -1, KeepDim::yes)));
}

void attention_of_products_backward(kernels::AttentionGradients& to, const Tensor& grad,
                                    const kernels::AttentionForward& forward, const kernels::AttentionScores& how) {
  const Tensor weights = softmax(scores_of(forward.query, forward.key, how), -1);
  if (to.value.defined()) to.value.copy_from(matmul(dropped(weights, how).transpose(-2, -1), grad));
  if (!to.query.defined() && !to.key.defined() && !to.mask.defined()) return;
  const Tensor by_weights = dropped(matmul(grad, forward.value.transpose(-2, -1)), how);
  const Tensor by_scores = softmax_backward(by_weights, weights, -1);
  if (to.mask.defined()) to.mask.copy_from(sum_to(by_scores, to.mask.shape()));
  if (!to.query.defined() && !to.key.defined()) return;
  const Tensor by_products = mul(by_scores, how.scale);
  if (to.query.defined()) to.query.copy_from(matmul(by_products, forward.key));
  if (to.key.defined()) to.key.copy_from(matmul(by_products.transpose(-2, -1), forward.query));
}

}  // namespace troupe::detail
