#include "autograd/ops/loss.h"

#include <array>
#include <utility>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "autograd/record.h"
#include "tensor/decompositions/loss_formulas.h"
#include "tensor/ops/class_loss.h"
#include "tensor/ops/pair_loss.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::PairLoss;
using detail::record;
using detail::Saved;
using Edges = std::span<const Edge>;

/// Records the loss that `loss_of` makes of the values of x and y. Backward checks the versions of `weights`.
template <class LossOf>
Variable record_pairs(std::string_view name, const Variable& x, const Variable& y, const LossOf& loss_of,
                      const std::array<Tensor, 2>& weights = {}) {
  const auto [a, b] = detail::values_of(x, y);
  PairLoss loss = loss_of(a, b);
  Tensor value = loss.value(a, b);
  return record(name, std::move(value), edges_of({&x, &y}),
                [loss = std::move(loss), a = Saved(a), b = Saved(b), weight = Saved(weights[0]),
                 pos_weight = Saved(weights[1])](const Tensor& g, Edges to) {
                  static_cast<void>(weight.get());
                  static_cast<void>(pos_weight.get());
                  auto by = loss.backward(g, a.get(), b.get(), {bool{to[0]}, bool{to[1]}});
                  return std::vector<Tensor>{std::move(by[0]), std::move(by[1])};
                });
}

/// Cross entropy with class probabilities as target.
Variable soft_cross_entropy(const Variable& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Tensor value = logits.value();
  const int dim = detail::class_dim(value.dim());
  const Tensor wanted = detail::weighted_probabilities(value, target, options);
  const Variable losses = neg(sum(mul(log_softmax(detail::wide(logits), dim), Variable(wanted)), dim));
  return detail::reduced(losses, options.reduction, value.dtype());
}

}  // namespace

Variable nll_loss(const Variable& log_probs, const Tensor& target, const NllLossOptions& options) {
  const Tensor value = log_probs.value();
  const CrossEntropyOptions same{
      .weight = options.weight, .ignore_index = options.ignore_index, .reduction = options.reduction};
  detail::ClassLoss loss("nll_loss", value, target, same);
  Tensor result = loss.nll(value);
  return record("nll_loss", std::move(result), edges_of({&log_probs}),
                [loss = std::move(loss), target = Saved(target), weight = Saved(options.weight)](const Tensor& g) {
                  static_cast<void>(target.get());
                  static_cast<void>(weight.get());
                  return loss.nll_backward(g);
                });
}

Variable cross_entropy(const Variable& logits, const Tensor& target, const CrossEntropyOptions& options) {
  target.require_defined("cross_entropy");
  if (is_floating(target.dtype())) return soft_cross_entropy(logits, target, options);
  const Tensor value = logits.value();
  detail::ClassLoss loss("cross_entropy", value, target, options);
  detail::ClassLoss::CrossEntropy found = loss.cross_entropy(value);
  return record("cross_entropy", std::move(found.loss), edges_of({&logits}),
                [loss = std::move(loss), target = Saved(target), weight = Saved(options.weight), value = Saved(value),
                 sums = std::move(found.sums)](const Tensor& g) {
                  static_cast<void>(target.get());
                  static_cast<void>(weight.get());
                  return loss.cross_entropy_backward(g, value.get(), sums);
                });
}

Variable nll_loss(const Variable& log_probs, const Variable& target, const NllLossOptions& options) {
  return nll_loss(log_probs, detail::value_of_target("nll_loss", target), options);
}
Variable cross_entropy(const Variable& logits, const Variable& target, const CrossEntropyOptions& options) {
  return cross_entropy(logits, detail::value_of_target("cross_entropy", target), options);
}
Variable mse_loss(const Variable& x, const Variable& y, Reduction reduction) {
  return record_pairs("mse_loss", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::mse_loss_of(a, b, reduction); });
}
Variable l1_loss(const Variable& x, const Variable& y, Reduction reduction) {
  return record_pairs("l1_loss", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::l1_loss_of(a, b, reduction); });
}
Variable smooth_l1_loss(const Variable& x, const Variable& y, const SmoothL1LossOptions& options) {
  return record_pairs("smooth_l1_loss", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::smooth_l1_loss_of(a, b, options); });
}
Variable huber_loss(const Variable& x, const Variable& y, const HuberLossOptions& options) {
  return record_pairs("huber_loss", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::huber_loss_of(a, b, options); });
}
Variable bce_loss(const Variable& x, const Variable& y, const BceLossOptions& options) {
  return record_pairs("bce_loss", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::bce_loss_of(a, b, options); },
                      {options.weight, Tensor()});
}
Variable bce_with_logits(const Variable& x, const Variable& y, const BceWithLogitsOptions& options) {
  return record_pairs("bce_with_logits", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::bce_with_logits_of(a, b, options); },
                      {options.weight, options.pos_weight});
}
Variable kl_div(const Variable& x, const Variable& y, const KlDivOptions& options) {
  return record_pairs("kl_div", x, y,
                      [&](const Tensor& a, const Tensor& b) { return detail::kl_div_of(a, b, options); });
}

Variable poisson_nll_loss(const Variable& x, const Tensor& target, const PoissonNllLossOptions& options) {
  return detail::poisson_nll_formula(detail::as_it_is(x), target, options);
}
Variable poisson_nll_loss(const Variable& x, const Variable& target, const PoissonNllLossOptions& options) {
  return poisson_nll_loss(x, detail::value_of_target("poisson_nll_loss", target), options);
}
Variable gaussian_nll_loss(const Variable& x, const Variable& target, const Variable& var,
                           const GaussianNllLossOptions& options) {
  const auto [mean, wanted, spread] = detail::one_version_of(x, target, var);
  return detail::gaussian_nll_formula(mean, wanted, spread, options);
}

}  // namespace troupe
