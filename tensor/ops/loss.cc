#include "tensor/ops/loss.h"

#include "tensor/decompositions/loss_formulas.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/class_loss.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/pair_loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {

Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const NllLossOptions& options) {
  const CrossEntropyOptions same{
      .weight = options.weight, .ignore_index = options.ignore_index, .reduction = options.reduction};
  return detail::ClassLoss("nll_loss", log_probs, target, same).nll(log_probs);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  target.require_defined("cross_entropy");
  if (!is_floating(target.dtype()))
    return detail::ClassLoss("cross_entropy", logits, target, options).cross_entropy(logits).loss;
  const Tensor wanted = detail::weighted_probabilities(logits, target, options);
  const int dim = detail::class_dim(logits.dim());
  const Tensor losses = neg(sum(mul(log_softmax(detail::wide(logits), dim), wanted), dim));
  return detail::reduced(losses, options.reduction, logits.dtype());
}

Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction) {
  return detail::mse_loss_of(x, y, reduction).value(x, y);
}
Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction reduction) {
  return detail::l1_loss_of(x, y, reduction).value(x, y);
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, const SmoothL1LossOptions& options) {
  return detail::smooth_l1_loss_of(x, y, options).value(x, y);
}
Tensor huber_loss(const Tensor& x, const Tensor& y, const HuberLossOptions& options) {
  return detail::huber_loss_of(x, y, options).value(x, y);
}
Tensor bce_loss(const Tensor& x, const Tensor& y, const BceLossOptions& options) {
  return detail::bce_loss_of(x, y, options).value(x, y);
}
Tensor bce_with_logits(const Tensor& x, const Tensor& y, const BceWithLogitsOptions& options) {
  return detail::bce_with_logits_of(x, y, options).value(x, y);
}
Tensor kl_div(const Tensor& x, const Tensor& y, const KlDivOptions& options) {
  return detail::kl_div_of(x, y, options).value(x, y);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllLossOptions& options) {
  return detail::poisson_nll_formula(x, target, options);
}
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                         const GaussianNllLossOptions& options) {
  return detail::gaussian_nll_formula(x, target, var, options);
}

}  // namespace troupe
