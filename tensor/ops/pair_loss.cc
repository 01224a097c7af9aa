#include "tensor/ops/pair_loss.h"

#include <fmt/format.h>

#include <utility>

#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {

/// Builds a PairLoss and checks the arguments that all losses share. REQUIRES: `x` outlives it.
class PairLossMaker {
 public:
  PairLossMaker(std::string_view op, const Tensor& x, const Tensor& y, kernels::PairLossKind kind) : op_(op), x_(x) {
    require_together(op, x, y);
    require_same_shape(op, x, y);
    loss_.loss_.kind = kind;
    loss_.shape_ = x.shape();
    loss_.dtype_ = promote_to_floating(promote(x.dtype(), y.dtype()));
  }

  PairLossMaker& parameter(double value) {
    loss_.loss_.parameter = value;
    return *this;
  }
  PairLossMaker& weight(const Tensor& given) {
    loss_.loss_.weight = broadcast("weight", given);
    return *this;
  }
  PairLossMaker& pos_weight(const Tensor& given) {
    loss_.loss_.pos_weight = broadcast("pos_weight", given);
    return *this;
  }

  [[nodiscard]] PairLoss with(Reduction reduction) {
    return reduced(reduction, static_cast<double>(loss_.shape_.numel()));
  }
  [[nodiscard]] PairLoss reduced(Reduction reduction, double divisor) {
    loss_.reduces_ = reduction != Reduction::none;
    if (reduction == Reduction::mean) loss_.divisor_ = divisor;
    return std::move(loss_);
  }

 private:
  Tensor broadcast(std::string_view what, const Tensor& given) const {
    if (!given.defined()) return given;
    require_together(op_, x_, given);
    if (!is_floating(given.dtype())) throw_not_floating(op_, given.dtype());
    if (!broadcasts_to(given.shape(), loss_.shape_)) {
      throw ShapeError(
          fmt::format("[{}] {} does not fit: {} for {}", op_, what, to_string(given.shape()), to_string(loss_.shape_)));
    }
    return given.to(compute_dtype(loss_.dtype_)).expand(loss_.shape_).contiguous();
  }

  std::string_view op_;
  const Tensor& x_;
  PairLoss loss_;
};

/// Returns `x` for the kernels: rounded to the loss's dtype, then contiguous in the compute dtype.
Tensor PairLoss::prepared(const Tensor& x) const { return x.to(dtype_).to(compute_dtype(dtype_)).contiguous(); }

Tensor PairLoss::value(const Tensor& x, const Tensor& y) const {
  const Tensor a = prepared(x);
  const Tensor b = prepared(y);
  if (reduces_) {
    Tensor total = Tensor::empty({}, DType::f64, x.device());
    kernels_of(total).pair_loss_sum(total, a, b, loss_, divisor_);
    return total.to(dtype_);
  }
  Tensor out = Tensor::empty(shape_, a.dtype(), x.device());
  kernels_of(out).pair_loss(out, a, b, loss_);
  return out.to(dtype_);
}

std::array<Tensor, 2> PairLoss::backward(const Tensor& grad, const Tensor& x, const Tensor& y,
                                         std::array<bool, 2> wanted) const {
  const Tensor a = prepared(x);
  const Tensor b = prepared(y);
  std::array<Tensor, 2> by;
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (wanted[i]) by[i] = Tensor::empty(shape_, a.dtype(), a.device());
  }
  const Tensor of_each = reduces_ ? div(grad.to(DType::f64), divisor_) : grad;
  kernels_of(a).pair_loss_backward(by[0], by[1], of_each.to(a.dtype()).contiguous(), a, b, loss_);
  if (wanted[0]) by[0] = by[0].to(x.dtype());
  if (wanted[1]) by[1] = by[1].to(y.dtype());
  return by;
}

PairLoss mse_loss_of(const Tensor& x, const Tensor& y, Reduction reduction) {
  return PairLossMaker("mse_loss", x, y, kernels::PairLossKind::squared).with(reduction);
}

PairLoss l1_loss_of(const Tensor& x, const Tensor& y, Reduction reduction) {
  return PairLossMaker("l1_loss", x, y, kernels::PairLossKind::absolute).with(reduction);
}

PairLoss smooth_l1_loss_of(const Tensor& x, const Tensor& y, const SmoothL1LossOptions& options) {
  if (!(options.beta >= 0.0)) throw ValueError(fmt::format("[smooth_l1_loss] beta below 0: {}", options.beta));
  const auto kind = options.beta == 0.0 ? kernels::PairLossKind::absolute : kernels::PairLossKind::smooth_l1;
  return PairLossMaker("smooth_l1_loss", x, y, kind).parameter(options.beta).with(options.reduction);
}

PairLoss huber_loss_of(const Tensor& x, const Tensor& y, const HuberLossOptions& options) {
  if (!(options.delta > 0.0)) throw ValueError(fmt::format("[huber_loss] delta not above 0: {}", options.delta));
  return PairLossMaker("huber_loss", x, y, kernels::PairLossKind::huber)
      .parameter(options.delta)
      .with(options.reduction);
}

PairLoss bce_loss_of(const Tensor& x, const Tensor& y, const BceLossOptions& options) {
  const PairLoss loss =
      PairLossMaker("bce_loss", x, y, kernels::PairLossKind::bce).weight(options.weight).with(options.reduction);
  const Tensor p = x.to(promote_to_floating(x.dtype())).to(compute_dtype(promote_to_floating(x.dtype()))).contiguous();
  if (kernels_of(p).all_probabilities(p)) return loss;
  const Tensor here = p.to(Device::cpu());
  dispatch_floating("bce_loss", here.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const T value : here.data<T>()) {
      if (!(value >= T{0} && value <= T{1})) throw ValueError(fmt::format("[bce_loss] not a probability: {}", value));
    }
  });
  return loss;
}

PairLoss bce_with_logits_of(const Tensor& x, const Tensor& y, const BceWithLogitsOptions& options) {
  return PairLossMaker("bce_with_logits", x, y, kernels::PairLossKind::bce_with_logits)
      .weight(options.weight)
      .pos_weight(options.pos_weight)
      .with(options.reduction);
}

PairLoss kl_div_of(const Tensor& x, const Tensor& y, const KlDivOptions& options) {
  PairLossMaker maker("kl_div", x, y,
                      options.log_target ? kernels::PairLossKind::kl_of_logs : kernels::PairLossKind::kl);
  switch (options.reduction) {
    case KlDivReduction::none: return maker.with(Reduction::none);
    case KlDivReduction::sum: return maker.with(Reduction::sum);
    case KlDivReduction::mean: return maker.with(Reduction::mean);
    case KlDivReduction::batchmean: break;
  }
  return maker.reduced(Reduction::mean, x.dim() == 0 ? 1.0 : static_cast<double>(x.size(0)));
}

}  // namespace troupe::detail
