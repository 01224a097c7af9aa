// The kernels of tensor/kernels/pair_loss.h for any launcher, see launcher.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/cuda/activation_formulas.h"
#include "tensor/cuda/fold_parts.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/reduce_kernels.h"
#include "tensor/kernels/pair_loss.h"

namespace troupe::cuda {

using kernels::PairLoss;
using kernels::PairLossKind;

/// Returns max(log_x, -100). `log_x` may be any logarithm.
template <class T>
TROUPE_HOST_DEVICE inline T limited(T log_x) {
  return log_x < T{-100} ? T{-100} : log_x;
}

/// The derivatives of one loss.
template <class T>
struct Slopes {
  T by_x;
  T by_y;
};

/// The loss of one pair, as in tensor/cpu/pair_loss.cc. All threads take the same branch.
template <class T>
struct PairFormula {
  PairLossKind kind;
  T parameter;
  const T* pos_weight;  ///< null: 1

  [[nodiscard]] TROUPE_HOST_DEVICE T loss(std::int64_t i, T x, T y) const {
    const T d = std::abs(x - y);
    switch (kind) {
      case PairLossKind::squared: return (x - y) * (x - y);
      case PairLossKind::absolute: return d;
      case PairLossKind::smooth_l1: return d < parameter ? T{0.5} * d * d / parameter : d - T{0.5} * parameter;
      case PairLossKind::huber: return d < parameter ? T{0.5} * d * d : parameter * (d - T{0.5} * parameter);
      case PairLossKind::bce: return (y - T{1}) * limited(std::log1p(-x)) - y * limited(std::log(x));
      case PairLossKind::bce_with_logits: {
        const T softplus = Softplus{}(-x);
        if (pos_weight == nullptr) return (T{1} - y) * x + softplus;
        return (T{1} - y) * x + (T{1} + (pos_weight[i] - T{1}) * y) * softplus;
      }
      case PairLossKind::kl: return y == T{0} ? T{0} : y * (std::log(y) - x);
      case PairLossKind::kl_of_logs: break;
    }
    return std::exp(y) * (y - x);
  }

  [[nodiscard]] TROUPE_HOST_DEVICE Slopes<T> slopes(std::int64_t i, T x, T y) const {
    const T d = x - y;
    switch (kind) {
      case PairLossKind::squared: return {T{2} * d, T{-2} * d};
      case PairLossKind::absolute: return {Sign{}(d), -Sign{}(d)};
      case PairLossKind::smooth_l1: return opposite(std::abs(d) < parameter ? d / parameter : Sign{}(d));
      case PairLossKind::huber: return opposite(std::abs(d) < parameter ? d : parameter * Sign{}(d));
      case PairLossKind::bce: {
        constexpr T kLeast = static_cast<T>(1e-12);
        const T spread = (T{1} - x) * x;
        return {d / (spread < kLeast ? kLeast : spread), limited(std::log1p(-x)) - limited(std::log(x))};
      }
      case PairLossKind::bce_with_logits: {
        if (pos_weight == nullptr) return {Sigmoid{}(x)-y, -x};
        const T p = pos_weight[i];
        return {(p * y + T{1} - y) * Sigmoid{}(x)-p * y, (p - T{1}) * Softplus{}(-x) - x};
      }
      case PairLossKind::kl: return {-y, y == T{0} ? T{0} : std::log(y) + T{1} - x};
      case PairLossKind::kl_of_logs: break;
    }
    const T e = std::exp(y);
    return {-e, e * (y - x + T{1})};
  }

  [[nodiscard]] static TROUPE_HOST_DEVICE Slopes<T> opposite(T slope) { return {slope, -slope}; }
};

/// Loss i times its weight.
template <class T>
struct PairLosses {
  PairFormula<T> formula;
  const T* x;
  const T* y;
  const T* weight;  ///< null: 1

  PairLosses(const Tensor& x_in, const Tensor& y_in, const PairLoss& loss)
      : formula{loss.kind, static_cast<T>(loss.parameter),
                loss.pos_weight.defined() ? address<T>(read(loss.pos_weight)) : nullptr},
        x(address<T>(read(x_in))),
        y(address<T>(read(y_in))),
        weight(loss.weight.defined() ? address<T>(read(loss.weight)) : nullptr) {}

  [[nodiscard]] TROUPE_HOST_DEVICE T weighed(std::int64_t i, T value) const {
    return weight == nullptr ? value : value * weight[i];
  }
  [[nodiscard]] TROUPE_HOST_DEVICE T at(std::int64_t i) const { return weighed(i, formula.loss(i, x[i], y[i])); }
  TROUPE_HOST_DEVICE double operator()(std::int64_t i) const { return static_cast<double>(at(i)); }
};

template <class T>
struct PairLossBody {
  PairLosses<T> losses;
  T* out;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = losses.at(i); }
};

template <class T>
struct PairBackwardBody {
  PairLosses<T> losses;
  T* by_x;  ///< null: not wanted
  T* by_y;
  const T* grad;
  std::int64_t grad_step;  ///< 0: one gradient for all losses

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const T g = grad[i * grad_step];
    const Slopes<T> slopes = losses.formula.slopes(i, losses.x[i], losses.y[i]);
    if (by_x != nullptr) by_x[i] = losses.weighed(i, slopes.by_x) * g;
    if (by_y != nullptr) by_y[i] = losses.weighed(i, slopes.by_y) * g;
  }
};

/// 1 if an element is not in [0, 1], also for NaN; else 0.
template <class T>
struct NotProbability {
  const T* x;
  TROUPE_HOST_DEVICE double operator()(std::int64_t i) const { return x[i] >= T{0} && x[i] <= T{1} ? 0.0 : 1.0; }
};

template <class Launcher>
void pair_loss_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), PairLossBody<T>{PairLosses<T>(x, y, loss), address<T>(to)});
  });
}

template <class Launcher>
void pair_loss_sum_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss,
                        double divisor) {
  using Join = JoinParts<SumFold<double>>;
  const PartSizes sizes(x.numel());
  Tensor totals = Tensor::empty({sizes.parts}, DType::f64, out.device());
  double* const of_parts = address<double>(written(totals));
  const Place to = written(out);
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    fold_parts(launcher, sizes, of_parts, PairLosses<T>(x, y, loss), Plus{});
  });
  launcher.template teams<Join::kLanes>(1, Join{{{divisor}, to, of_parts}, sizes.parts, 1});
}

template <class Launcher>
void pair_loss_backward_with(const Launcher& launcher, Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x,
                             const Tensor& y, const PairLoss& loss) {
  if (x.numel() == 0) return;
  const auto wanted = [](Tensor& by) { return by.defined() ? written(by) : Place{nullptr, DType::f32}; };
  const Place to_x = wanted(by_x);
  const Place to_y = wanted(by_y);
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(x.numel(), PairBackwardBody<T>{PairLosses<T>(x, y, loss), address<T>(to_x), address<T>(to_y),
                                                 address<T>(read(grad)), grad.numel() == 1 ? 0 : 1});
  });
}

template <class Launcher>
bool all_probabilities_with(const Launcher& launcher, const Tensor& x) {
  return dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    return folded_here(launcher, x.device(), x.numel(), NotProbability<T>{address<T>(read(x))}, Plus{}) == 0.0;
  });
}

}  // namespace troupe::cuda
