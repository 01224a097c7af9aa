#include "tensor/kernels/class_loss.h"

#include <algorithm>
#include <cmath>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/reals.h"

namespace troupe::cpu {

using kernels::RightClasses;

namespace {

// RightClasses with typed addresses.
template <class T>
struct Right {
  const std::int64_t* target;
  const T* weight;  // null: all 1
  std::int64_t ignore_index;
  double smoothing;

  explicit Right(const RightClasses& right)
      : target(elements<std::int64_t>(right.target)),
        weight(right.weight.defined() ? elements<T>(right.weight) : nullptr),
        ignore_index(right.ignore_index),
        smoothing(right.smoothing) {}

  [[nodiscard]] double weight_of(std::int64_t c) const {
    return weight == nullptr ? 1.0 : static_cast<double>(weight[c]);
  }
  [[nodiscard]] double weight_of_all(std::int64_t classes) const {
    if (weight == nullptr) return static_cast<double>(classes);
    return sum_of(classes, [w = weight](std::int64_t c) { return w[c]; });
  }
};

// Calls f(begin, block, count) for blocks that cover the row, where block[i] = exp(x[begin + i] - top).
template <class T, class F>
void for_each_exp(const T* x, T top, std::int64_t classes, const F& f) {
  RealBlock<T> block;
  T* const e = block.data();
  for (std::int64_t begin = 0; begin < classes; begin += kBlockElements) {
    const std::int64_t count = std::min(kBlockElements, classes - begin);
    vectorized_for(count, [e, from = x + begin, top](std::int64_t i) { e[i] = from[i] - top; });
    real_functions<T>().exp(e, e, count);
    f(begin, e, count);
  }
}

// Returns the loss of one row with class `target`, given log_sum = log(sum(exp(x - top))).
template <class T>
double loss_of_row(const T* x, std::int64_t classes, std::int64_t target, T top, double log_sum, const Right<T>& right,
                   double weight_of_all) {
  const auto below_top = [x, top](std::int64_t c) { return static_cast<double>(x[c] - top); };
  const double of_target = -right.weight_of(target) * (below_top(target) - log_sum);
  if (right.smoothing == 0.0) return of_target;
  // -sum(w (x - top - log_sum))
  const double of_all = right.weight == nullptr
                            ? weight_of_all * log_sum - sum_of(classes, below_top)
                            : weight_of_all * log_sum - sum_of(classes, [below_top, w = right.weight](std::int64_t c) {
                                return below_top(c) * static_cast<double>(w[c]);
                              });
  return (1.0 - right.smoothing) * of_target + right.smoothing / static_cast<double>(classes) * of_all;
}

// out = grad times the gradient of loss_of_row: p sum(q) - q. p are the probabilities; q is each class's weight times
// its share of the smoothing, for the target plus the rest.
template <class T>
void gradient_of_row(T* out, double grad, const T* x, std::int64_t classes, std::int64_t target, T top, double sum,
                     const Right<T>& right, double weight_of_all) {
  const double even = grad * right.smoothing / static_cast<double>(classes);
  const double of_target = grad * (1.0 - right.smoothing) * right.weight_of(target);
  const auto scale = static_cast<T>((of_target + even * weight_of_all) / sum);
  for_each_exp(x, top, classes, [&](std::int64_t begin, const T* e, std::int64_t count) {
    vectorized_for(count, [to = out + begin, e, scale](std::int64_t i) { to[i] = e[i] * scale; });
  });
  if (right.smoothing != 0.0) {
    const auto share = static_cast<T>(even);
    if (right.weight == nullptr) {
      vectorized_for(classes, [out, share](std::int64_t c) { out[c] -= share; });
    } else {
      vectorized_for(classes, [out, share, w = right.weight](std::int64_t c) { out[c] -= share * w[c]; });
    }
  }
  out[target] -= static_cast<T>(of_target);
}

std::optional<double> weight_of_targets(const RightClasses& right, std::int64_t classes) {
  const auto total_of = [&]<class T>(std::type_identity<T>) -> std::optional<double> {
    const Right<T> at(right);
    double total = 0.0;
    for (std::int64_t i = 0; i < right.target.numel(); ++i) {
      const std::int64_t t = at.target[i];
      if (t == at.ignore_index) continue;
      if (t < 0 || t >= classes) return std::nullopt;
      total += at.weight_of(t);
    }
    return total;
  };
  if (!right.weight.defined()) return total_of(std::type_identity<float>{});
  return dispatch_floating("class_loss", right.weight.dtype(), total_of);
}

void nll(Tensor& out, const Tensor& x, const RightClasses& right) {
  double* const to = mutable_elements<double>(out);
  const std::int64_t classes = x.size(1);
  const std::int64_t inner = x.size(2);
  dispatch_floating("nll_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Right<T> at(right);
    const T* const from = elements<T>(x);
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const std::int64_t t = at.target[i];
      to[i] = t == at.ignore_index
                  ? 0.0
                  : -at.weight_of(t) * static_cast<double>(from[(i / inner * classes + t) * inner + i % inner]);
    }
  });
}

void nll_backward(Tensor& out, const Tensor& grad, const RightClasses& right) {
  const std::int64_t classes = out.size(1);
  const std::int64_t inner = out.size(2);
  dispatch_floating("nll_loss_backward", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const double* const g = elements<double>(grad);
    const Right<T> at(right);
    std::fill(to, to + out.numel(), T{0});
    for (std::int64_t i = 0; i < grad.numel(); ++i) {
      const std::int64_t t = at.target[i];
      if (t != at.ignore_index)
        to[(i / inner * classes + t) * inner + i % inner] = static_cast<T>(-at.weight_of(t) * g[i]);
    }
  });
}

void cross_entropy(Tensor& losses, Tensor& sums, const Tensor& x, const RightClasses& right) {
  double* const to = mutable_elements<double>(losses);
  double* const sums_to = mutable_elements<double>(sums);
  const std::int64_t classes = x.size(1);
  dispatch_floating("cross_entropy", x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Right<T> at(right);
    const T* const from = elements<T>(x);
    const double weight_of_all = at.weight_of_all(classes);
    parallel_for(x.size(0), classes * 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* const row = from + i * classes;
        const T top = largest(row, classes);
        double sum = 0.0;
        for_each_exp(row, top, classes, [&](std::int64_t, const T* e, std::int64_t count) {
          sum += sum_of(count, [e](std::int64_t j) { return e[j]; });
        });
        sums_to[2 * i] = static_cast<double>(top);
        sums_to[2 * i + 1] = sum;
        const std::int64_t t = at.target[i];
        to[i] = t == at.ignore_index ? 0.0 : loss_of_row(row, classes, t, top, std::log(sum), at, weight_of_all);
      }
    });
  });
}

void cross_entropy_backward(Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& sums,
                            const RightClasses& right) {
  const std::int64_t classes = x.size(1);
  dispatch_floating("cross_entropy_backward", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    const double* const g = elements<double>(grad);
    const double* const of_rows = elements<double>(sums);
    const Right<T> at(right);
    const double weight_of_all = at.weight_of_all(classes);
    parallel_for(x.size(0), classes * 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* const row = to + i * classes;
        if (at.target[i] == at.ignore_index) {
          std::fill(row, row + classes, T{0});
        } else {
          gradient_of_row(row, g[i], from + i * classes, classes, at.target[i], static_cast<T>(of_rows[2 * i]),
                          of_rows[2 * i + 1], at, weight_of_all);
        }
      }
    });
  });
}

}  // namespace

const kernels::ClassLossKernels class_loss_kernels{.weight_of_targets = weight_of_targets,
                                                   .nll = nll,
                                                   .nll_backward = nll_backward,
                                                   .cross_entropy = cross_entropy,
                                                   .cross_entropy_backward = cross_entropy_backward};

}  // namespace troupe::cpu
