// Losses of variables. Shapes, dtypes and errors are those of tensor/ops/loss.h.
#pragma once

#include <concepts>

#include "autograd/variable.h"
#include "tensor/ops/loss.h"

namespace troupe {

[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Tensor& target, const NllLossOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Tensor& target, R reduction) {
  return nll_loss(log_probs, target, NllLossOptions{.reduction = reduction});
}
/// Returns the loss of `logits` (n, classes) for the class numbers `target` (n).
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& target,
                                     const CrossEntropyOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& target, R reduction) {
  return cross_entropy(logits, target, CrossEntropyOptions{.reduction = reduction});
}
// A target that is a variable gets no gradient. Throws ValueError `[cross_entropy] the target requires a gradient,
// which this operation does not give: pass target.detach()`. Class numbers are integers and never require one.
[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Variable& target, const NllLossOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Variable& target, R reduction) {
  return nll_loss(log_probs, target, NllLossOptions{.reduction = reduction});
}
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Variable& target,
                                     const CrossEntropyOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Variable& target, R reduction) {
  return cross_entropy(logits, target, CrossEntropyOptions{.reduction = reduction});
}

// Losses of pairs. Both operands may require a gradient. At a corner of the loss the gradient is 0.

[[nodiscard]] Variable mse_loss(const Variable& x, const Variable& y, Reduction reduction = Reduction::mean);
[[nodiscard]] Variable l1_loss(const Variable& x, const Variable& y, Reduction reduction = Reduction::mean);
[[nodiscard]] Variable smooth_l1_loss(const Variable& x, const Variable& y, const SmoothL1LossOptions& options = {});
[[nodiscard]] Variable huber_loss(const Variable& x, const Variable& y, const HuberLossOptions& options = {});
[[nodiscard]] Variable bce_loss(const Variable& x, const Variable& y, const BceLossOptions& options = {});
[[nodiscard]] Variable bce_with_logits(const Variable& x, const Variable& y, const BceWithLogitsOptions& options = {});
/// The gradient by `y` is 0 where `y` is 0.
[[nodiscard]] Variable kl_div(const Variable& x, const Variable& y, const KlDivOptions& options = {});

[[nodiscard]] Variable poisson_nll_loss(const Variable& x, const Tensor& target,
                                        const PoissonNllLossOptions& options = {});
[[nodiscard]] Variable poisson_nll_loss(const Variable& x, const Variable& target,
                                        const PoissonNllLossOptions& options = {});
/// A variance below eps has the gradient of a variance of eps.
[[nodiscard]] Variable gaussian_nll_loss(const Variable& x, const Variable& target, const Variable& var,
                                         const GaussianNllLossOptions& options = {});

}  // namespace troupe
