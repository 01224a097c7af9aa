// Forward and backward of the losses of pairs of elements, for ops/loss.h and autograd/.
#pragma once

#include <array>
#include <string_view>

#include "tensor/kernels/pair_loss.h"
#include "tensor/ops/loss.h"

namespace troupe::detail {

/// A loss of pairs with checked arguments.
class PairLoss {
 public:
  [[nodiscard]] Tensor value(const Tensor& x, const Tensor& y) const;

  /// Returns the wanted gradients of x and y, in their dtypes; the others are undefined.
  [[nodiscard]] std::array<Tensor, 2> backward(const Tensor& grad, const Tensor& x, const Tensor& y,
                                               std::array<bool, 2> wanted) const;

 private:
  friend class PairLossMaker;
  PairLoss() = default;

  [[nodiscard]] Tensor prepared(const Tensor& x) const;

  kernels::PairLoss loss_{};
  Shape shape_;
  DType dtype_ = DType::f32;
  bool reduces_ = false;
  double divisor_ = 1.0;  ///< divides the sum if reduces_
};

// The losses of these names in ops/loss.h; they throw as those.

[[nodiscard]] PairLoss mse_loss_of(const Tensor& x, const Tensor& y, Reduction reduction);
[[nodiscard]] PairLoss l1_loss_of(const Tensor& x, const Tensor& y, Reduction reduction);
[[nodiscard]] PairLoss smooth_l1_loss_of(const Tensor& x, const Tensor& y, const SmoothL1LossOptions& options);
[[nodiscard]] PairLoss huber_loss_of(const Tensor& x, const Tensor& y, const HuberLossOptions& options);
[[nodiscard]] PairLoss bce_loss_of(const Tensor& x, const Tensor& y, const BceLossOptions& options);
[[nodiscard]] PairLoss bce_with_logits_of(const Tensor& x, const Tensor& y, const BceWithLogitsOptions& options);
[[nodiscard]] PairLoss kl_div_of(const Tensor& x, const Tensor& y, const KlDivOptions& options);

}  // namespace troupe::detail
