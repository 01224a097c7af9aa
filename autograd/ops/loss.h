// Losses of variables. Shapes, dtypes and errors are those of tensor/ops/loss.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/loss.h"

namespace troupe {

[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Tensor& target, const NllLossOptions& options = {});
[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Tensor& target, Reduction reduction);
/// What to minimise for `logits` (n, classes) whose right classes are `target` (n).
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& target,
                                     const CrossEntropyOptions& options = {});
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& target, Reduction reduction);
/// Class numbers may be a variable: they are integers, which have no gradient.
[[nodiscard]] inline Variable nll_loss(const Variable& log_probs, const Variable& target,
                                       const NllLossOptions& options = {}) {
  return nll_loss(log_probs, target.value(), options);
}
[[nodiscard]] inline Variable cross_entropy(const Variable& logits, const Variable& target,
                                            const CrossEntropyOptions& options = {}) {
  return cross_entropy(logits, target.value(), options);
}

// Of pairs; both may require a gradient. Where there is a corner, the gradient is 0.

[[nodiscard]] Variable mse_loss(const Variable& x, const Variable& y, Reduction reduction = Reduction::mean);
[[nodiscard]] Variable l1_loss(const Variable& x, const Variable& y, Reduction reduction = Reduction::mean);
[[nodiscard]] Variable smooth_l1_loss(const Variable& x, const Variable& y, const SmoothL1LossOptions& options = {});
[[nodiscard]] Variable huber_loss(const Variable& x, const Variable& y, const HuberLossOptions& options = {});
[[nodiscard]] Variable bce_loss(const Variable& x, const Variable& y, const BceLossOptions& options = {});
[[nodiscard]] Variable bce_with_logits(const Variable& x, const Variable& y, const BceWithLogitsOptions& options = {});
/// The gradient by a `y` of 0 is 0.
[[nodiscard]] Variable kl_div(const Variable& x, const Variable& y, const KlDivOptions& options = {});

[[nodiscard]] Variable poisson_nll_loss(const Variable& x, const Tensor& target,
                                        const PoissonNllLossOptions& options = {});
/// A variance below eps has the gradient that eps has.
[[nodiscard]] Variable gaussian_nll_loss(const Variable& x, const Variable& target, const Variable& var,
                                         const GaussianNllLossOptions& options = {});

}  // namespace troupe
