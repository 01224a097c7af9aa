// The kernels of tensor/kernels/class_loss.h for any launcher, see launcher.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "tensor/cuda/fold_parts.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/class_loss.h"
#include "tensor/kernels/table.h"

namespace troupe::cuda {

using kernels::RightClasses;

/// RightClasses with typed addresses.
template <class T>
struct Right {
  const std::int64_t* target;
  const T* weight;  ///< null: all 1
  std::int64_t ignore_index;
  double smoothing;

  explicit Right(const RightClasses& right)
      : target(address<std::int64_t>(read(right.target))),
        weight(right.weight.defined() ? address<T>(read(right.weight)) : nullptr),
        ignore_index(right.ignore_index),
        smoothing(right.smoothing) {}

  [[nodiscard]] TROUPE_HOST_DEVICE double weight_of(std::int64_t c) const {
    return weight == nullptr ? 1.0 : static_cast<double>(weight[c]);
  }
};

/// The weight of target i: 0 if it is ignored, NaN if it is not a class.
template <class T>
struct TargetWeight {
  Right<T> right;
  std::int64_t classes;

  TROUPE_HOST_DEVICE double operator()(std::int64_t i) const {
    const std::int64_t t = right.target[i];
    if (t == right.ignore_index) return 0.0;
    return t < 0 || t >= classes ? std::numeric_limits<double>::quiet_NaN() : right.weight_of(t);
  }
};

/// The place of the score of row i's target class in (n, classes, inner).
struct ScorePlaces {
  std::int64_t classes;
  std::int64_t inner;

  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t at(std::int64_t i, std::int64_t target) const {
    return (i / inner * classes + target) * inner + i % inner;
  }
};

template <class T>
struct NllBody {
  Right<T> right;
  ScorePlaces places;
  double* out;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t t = right.target[i];
    out[i] = t == right.ignore_index ? 0.0 : -right.weight_of(t) * static_cast<double>(x[places.at(i, t)]);
  }
};

template <class T>
struct ZeroBody {
  T* out;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = T{0}; }
};

/// Writes the elements of `out` that are not 0.
template <class T>
struct NllBackwardBody {
  Right<T> right;
  ScorePlaces places;
  T* out;
  const double* grad;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t t = right.target[i];
    if (t != right.ignore_index) out[places.at(i, t)] = static_cast<T>(-right.weight_of(t) * grad[i]);
  }
};

/// One team per row of logits computes the largest logit, the sum of the exponentials, and the loss. With smoothing,
/// the share of all classes is -sum(w (x - top - log(sum))), as in tensor/cpu/class_loss.cc.
template <class T, int lanes>
struct CrossEntropyRows {
  struct Shared {
    T tops[lanes];
    double sums[lanes];
    double distances[lanes];
    double weights[lanes];
  };
  Right<T> right;
  std::int64_t classes;
  double* losses;
  double* found;
  const T* x;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const T* const row = x + i * classes;
    Shared& shared = team.shared;
    team.each([&](int lane) {
      T top = -std::numeric_limits<T>::infinity();
      for (std::int64_t c = lane; c < classes; c += lanes) top = Larger{}(top, row[c]);
      shared.tops[lane] = top;
    });
    join_lanes(team, shared.tops, Larger{});
    team.each([&](int lane) {
      const T top = shared.tops[0];
      double sum = 0.0;
      double distance = 0.0;
      double weight = 0.0;
      for (std::int64_t c = lane; c < classes; c += lanes) {
        sum += static_cast<double>(std::exp(row[c] - top));
        if (right.smoothing == 0.0) continue;
        distance += static_cast<double>(row[c] - top) * right.weight_of(c);
        weight += right.weight_of(c);
      }
      shared.sums[lane] = sum;
      shared.distances[lane] = distance;
      shared.weights[lane] = weight;
    });
    join_lanes(team, shared.sums, Plus{});
    if (right.smoothing != 0.0) {
      join_lanes(team, shared.distances, Plus{});
      join_lanes(team, shared.weights, Plus{});
    }
    team.each([&](int lane) {
      if (lane == 0) put(i, row, shared.tops[0], shared.sums[0], shared.distances[0], shared.weights[0]);
    });
  }

  TROUPE_HOST_DEVICE void put(std::int64_t i, const T* row, T top, double sum, double distance, double weight) const {
    found[2 * i] = static_cast<double>(top);
    found[2 * i + 1] = sum;
    const std::int64_t t = right.target[i];
    losses[i] = 0.0;
    if (t == right.ignore_index) return;
    const double log_sum = std::log(sum);
    losses[i] = -right.weight_of(t) * (static_cast<double>(row[t] - top) - log_sum);
    if (right.smoothing == 0.0) return;
    losses[i] = (1.0 - right.smoothing) * losses[i] +
                right.smoothing / static_cast<double>(classes) * (weight * log_sum - distance);
  }
};

/// One team per row computes grad * (p sum(q) - q). p are the probabilities, q the target shares of the classes.
template <class T, int lanes>
struct CrossEntropyBackwardRows {
  struct Shared {
    double weights[lanes];
  };
  Right<T> right;
  std::int64_t classes;
  T* out;
  const double* grad;
  const T* x;
  const double* found;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::int64_t t = right.target[i];
    Shared& shared = team.shared;
    if (right.smoothing != 0.0) {
      team.each([&](int lane) {
        double weight = 0.0;
        for (std::int64_t c = lane; c < classes; c += lanes) weight += right.weight_of(c);
        shared.weights[lane] = weight;
      });
      join_lanes(team, shared.weights, Plus{});
    }
    team.each([&](int lane) {
      T* const to = out + i * classes;
      if (t == right.ignore_index) {
        for (std::int64_t c = lane; c < classes; c += lanes) to[c] = T{0};
        return;
      }
      const double even = right.smoothing == 0.0 ? 0.0 : grad[i] * right.smoothing / static_cast<double>(classes);
      const double of_target = grad[i] * (1.0 - right.smoothing) * right.weight_of(t);
      const double weight_of_all = right.smoothing == 0.0 ? 0.0 : shared.weights[0];
      const auto scale = static_cast<T>((of_target + even * weight_of_all) / found[2 * i + 1]);
      const auto top = static_cast<T>(found[2 * i]);
      const auto share = static_cast<T>(even);
      for (std::int64_t c = lane; c < classes; c += lanes) {
        T g = std::exp(x[i * classes + c] - top) * scale;
        if (right.smoothing != 0.0) g -= right.weight == nullptr ? share : share * right.weight[c];
        to[c] = c == t ? g - static_cast<T>(of_target) : g;
      }
    });
  }
};

/// If the sum is NaN, because of a wrong target or a weight of NaN, the CPU computes the result.
template <class Launcher>
std::optional<double> weight_of_targets_with(const Launcher& launcher, const RightClasses& right,
                                             std::int64_t classes) {
  const std::int64_t count = right.target.numel();
  const auto total_as = [&]<class T>(std::type_identity<T>) {
    return folded_here(launcher, right.target.device(), count, TargetWeight<T>{Right<T>(right), classes}, Plus{});
  };
  const bool wide = right.weight.defined() && right.weight.dtype() == DType::f64;
  const double total = wide ? total_as(std::type_identity<double>{}) : total_as(std::type_identity<float>{});
  if (!std::isnan(total)) return total;
  RightClasses here = right;
  here.target = right.target.to(Device::cpu());
  if (right.weight.defined()) here.weight = right.weight.to(Device::cpu());
  return kernels_of(Device::cpu()).weight_of_targets(here, classes);
}

template <class Launcher>
void nll_with(const Launcher& launcher, Tensor& out, const Tensor& x, const RightClasses& right) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  dispatch_floating("nll_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(),
                  NllBody<T>{Right<T>(right), {x.size(1), x.size(2)}, address<double>(to), address<T>(read(x))});
  });
}

template <class Launcher>
void nll_backward_with(const Launcher& launcher, Tensor& out, const Tensor& grad, const RightClasses& right) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  dispatch_floating("nll_loss_backward", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), ZeroBody<T>{address<T>(to)});
    launcher.each(
        grad.numel(),
        NllBackwardBody<T>{Right<T>(right), {out.size(1), out.size(2)}, address<T>(to), address<double>(read(grad))});
  });
}

template <class Launcher>
void cross_entropy_with(const Launcher& launcher, Tensor& losses, Tensor& sums, const Tensor& x,
                        const RightClasses& right) {
  if (x.numel() == 0) return;
  const Place to = written(losses);
  const Place found = written(sums);
  const std::int64_t classes = x.size(1);
  dispatch_floating("cross_entropy", x.dtype(), [&]<class T>(std::type_identity<T>) {
    with_lanes(classes, [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(
          x.size(0), CrossEntropyRows<T, lanes>{Right<T>(right), classes, address<double>(to), address<double>(found),
                                                address<T>(read(x))});
    });
  });
}

template <class Launcher>
void cross_entropy_backward_with(const Launcher& launcher, Tensor& out, const Tensor& grad, const Tensor& x,
                                 const Tensor& sums, const RightClasses& right) {
  if (x.numel() == 0) return;
  const Place to = written(out);
  const std::int64_t classes = x.size(1);
  dispatch_floating("cross_entropy_backward", x.dtype(), [&]<class T>(std::type_identity<T>) {
    with_lanes(classes, [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(
          x.size(0),
          CrossEntropyBackwardRows<T, lanes>{Right<T>(right), classes, address<T>(to), address<double>(read(grad)),
                                             address<T>(read(x)), address<double>(read(sums))});
    });
  });
}

}  // namespace troupe::cuda
