#include "tensor/kernels/pair_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/reals.h"

namespace troupe::cpu {

using kernels::PairLoss;
using kernels::PairLossKind;

namespace {

constexpr std::int64_t kPartElements = 1 << 14;  // elements of a separate sum; a multiple of kBlockElements

// At most kBlockElements elements of every operand. pos_weight may be null.
template <class T>
struct Block {
  const T* x;
  const T* y;
  const T* pos_weight;
  std::int64_t count;
};

template <class T>
[[gnu::always_inline]] inline T sign(T d) {
  return static_cast<T>(d > T{0}) - static_cast<T>(d < T{0}) + (d != d ? d : T{0});
}

// max(log(p), -100) and max(log(1 - p), -100)
template <class T>
void limited_logs(T* log_p, T* log_rest, const T* p, std::int64_t count) {
  real_functions<T>().log(log_p, p, count);
  vectorized_for(count, [log_rest, p](std::int64_t i) { log_rest[i] = -p[i]; });
  real_functions<T>().log1p(log_rest, log_rest, count);
  constexpr T kLeast = -100;
  vectorized_for(count, [log_p, log_rest](std::int64_t i) {
    log_p[i] = log_p[i] < kLeast ? kLeast : log_p[i];
    log_rest[i] = log_rest[i] < kLeast ? kLeast : log_rest[i];
  });
}

// log(1 + exp(-x))
template <class T>
void softplus_of_minus(T* out, const T* x, std::int64_t count) {
  vectorized_for(count, [out, x](std::int64_t i) { out[i] = -x[i]; });
  softplus(out, out, count);
}

template <class T>
void losses(const PairLoss& loss, T* out, const Block<T>& in) {
  const T* const x = in.x;
  const T* const y = in.y;
  const std::int64_t count = in.count;
  const auto parameter = static_cast<T>(loss.parameter);
  RealBlock<T> first;
  RealBlock<T> second;
  T* const a = first.data();
  T* const b = second.data();
  switch (loss.kind) {
    case PairLossKind::squared:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = (x[i] - y[i]) * (x[i] - y[i]); });
    case PairLossKind::absolute: return vectorized_for(count, [=](std::int64_t i) { out[i] = std::abs(x[i] - y[i]); });
    case PairLossKind::smooth_l1:
      return vectorized_for(count, [=](std::int64_t i) {
        const T d = std::abs(x[i] - y[i]);
        out[i] = d < parameter ? T{0.5} * d * d / parameter : d - T{0.5} * parameter;
      });
    case PairLossKind::huber:
      return vectorized_for(count, [=](std::int64_t i) {
        const T d = std::abs(x[i] - y[i]);
        out[i] = d < parameter ? T{0.5} * d * d : parameter * (d - T{0.5} * parameter);
      });
    case PairLossKind::bce:
      limited_logs(a, b, x, count);
      return vectorized_for(count, [=](std::int64_t i) { out[i] = (y[i] - T{1}) * b[i] - y[i] * a[i]; });
    case PairLossKind::bce_with_logits: {
      softplus_of_minus(a, x, count);
      const T* const p = in.pos_weight;
      if (p == nullptr) return vectorized_for(count, [=](std::int64_t i) { out[i] = (T{1} - y[i]) * x[i] + a[i]; });
      return vectorized_for(
          count, [=](std::int64_t i) { out[i] = (T{1} - y[i]) * x[i] + (T{1} + (p[i] - T{1}) * y[i]) * a[i]; });
    }
    case PairLossKind::kl:
      real_functions<T>().log(a, y, count);
      return vectorized_for(count, [=](std::int64_t i) { out[i] = y[i] == T{0} ? T{0} : y[i] * (a[i] - x[i]); });
    case PairLossKind::kl_of_logs:
      real_functions<T>().exp(a, y, count);
      return vectorized_for(count, [=](std::int64_t i) { out[i] = a[i] * (y[i] - x[i]); });
  }
}

// by_x and by_y = the derivatives of each loss.
template <class T>
void slopes(const PairLoss& loss, T* by_x, T* by_y, const Block<T>& in) {
  const T* const x = in.x;
  const T* const y = in.y;
  const std::int64_t count = in.count;
  const auto parameter = static_cast<T>(loss.parameter);
  const auto of_distance = [&](const auto& slope) {
    vectorized_for(count, [by_x, by_y, x, y, slope](std::int64_t i) {
      by_x[i] = slope(x[i] - y[i]);
      by_y[i] = -by_x[i];
    });
  };
  switch (loss.kind) {
    case PairLossKind::squared: return of_distance([](T d) { return T{2} * d; });
    case PairLossKind::absolute: return of_distance([](T d) { return sign(d); });
    case PairLossKind::smooth_l1:
      return of_distance([parameter](T d) { return std::abs(d) < parameter ? d / parameter : sign(d); });
    case PairLossKind::huber:
      return of_distance([parameter](T d) { return std::abs(d) < parameter ? d : parameter * sign(d); });
    case PairLossKind::bce: {
      limited_logs(by_x, by_y, x, count);
      constexpr T kLeast = static_cast<T>(1e-12);
      return vectorized_for(count, [=](std::int64_t i) {
        by_y[i] -= by_x[i];
        const T spread = (T{1} - x[i]) * x[i];
        by_x[i] = (x[i] - y[i]) / (spread < kLeast ? kLeast : spread);
      });
    }
    case PairLossKind::bce_with_logits: {
      softplus_of_minus(by_y, x, count);
      sigmoid(by_x, x, count);
      const T* const p = in.pos_weight;
      if (p == nullptr) {
        return vectorized_for(count, [=](std::int64_t i) {
          by_x[i] -= y[i];
          by_y[i] = -x[i];
        });
      }
      return vectorized_for(count, [=](std::int64_t i) {
        by_x[i] = (p[i] * y[i] + T{1} - y[i]) * by_x[i] - p[i] * y[i];
        by_y[i] = (p[i] - T{1}) * by_y[i] - x[i];
      });
    }
    case PairLossKind::kl:
      real_functions<T>().log(by_y, y, count);
      return vectorized_for(count, [=](std::int64_t i) {
        by_x[i] = -y[i];
        by_y[i] = y[i] == T{0} ? T{0} : by_y[i] + T{1} - x[i];
      });
    case PairLossKind::kl_of_logs:
      real_functions<T>().exp(by_y, y, count);
      return vectorized_for(count, [=](std::int64_t i) {
        by_x[i] = -by_y[i];
        by_y[i] *= y[i] - x[i] + T{1};
      });
  }
}

// The operands of a loss, addressed by element.
template <class T>
struct Operands {
  const T* x;
  const T* y;
  const T* weight;
  const T* pos_weight;
  Operands(const Tensor& x_, const Tensor& y_, const PairLoss& loss)
      : x(elements<T>(x_)),
        y(elements<T>(y_)),
        weight(loss.weight.defined() ? elements<T>(loss.weight) : nullptr),
        pos_weight(loss.pos_weight.defined() ? elements<T>(loss.pos_weight) : nullptr) {}
  [[nodiscard]] Block<T> block(std::int64_t at, std::int64_t count) const {
    return {x + at, y + at, pos_weight == nullptr ? nullptr : pos_weight + at, count};
  }
  void weigh(T* losses_there, std::int64_t at, std::int64_t count) const {
    if (weight == nullptr) return;
    vectorized_for(count, [losses_there, w = weight + at](std::int64_t i) { losses_there[i] *= w[i]; });
  }
};

// Calls f(place, count) for blocks that cover [begin, end).
template <class F>
void for_each_block_of(std::int64_t begin, std::int64_t end, const F& f) {
  for (std::int64_t at = begin; at < end; at += kBlockElements) f(at, std::min(kBlockElements, end - at));
}

void pair_loss(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss) {
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const Operands<T> in(x, y, loss);
    parallel_for(x.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
      for_each_block_of(begin, end, [&](std::int64_t at, std::int64_t count) {
        losses(loss, to + at, in.block(at, count));
        in.weigh(to + at, at, count);
      });
    });
  });
}

void pair_loss_sum(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss, double divisor) {
  double* const to = mutable_elements<double>(out);
  const std::int64_t parts = (x.numel() + kPartElements - 1) / kPartElements;
  std::vector<double> sums(static_cast<std::size_t>(parts), 0.0);
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Operands<T> in(x, y, loss);
    parallel_for(parts, kPartElements * 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        double& sum = sums[static_cast<std::size_t>(part)];
        const std::int64_t first = part * kPartElements;
        for_each_block_of(first, std::min(first + kPartElements, x.numel()), [&](std::int64_t at, std::int64_t count) {
          RealBlock<T> block;
          losses(loss, block.data(), in.block(at, count));
          in.weigh(block.data(), at, count);
          sum += sum_of(count, [from = block.data()](std::int64_t i) { return from[i]; });
        });
      }
    });
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  *to = total / divisor;
}

void pair_loss_backward(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y,
                        const PairLoss& loss) {
  dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to_x = by_x.defined() ? mutable_elements<T>(by_x) : nullptr;
    T* const to_y = by_y.defined() ? mutable_elements<T>(by_y) : nullptr;
    const T* const g = elements<T>(grad);
    const bool one_grad = grad.numel() == 1;
    const Operands<T> in(x, y, loss);
    parallel_for(x.numel(), 8, [&](std::int64_t begin, std::int64_t end) {
      for_each_block_of(begin, end, [&](std::int64_t at, std::int64_t count) {
        RealBlock<T> slopes_x;
        RealBlock<T> slopes_y;
        slopes(loss, slopes_x.data(), slopes_y.data(), in.block(at, count));
        const auto put = [&](T* to, T* slope) {
          if (to == nullptr) return;
          in.weigh(slope, at, count);
          if (one_grad) {
            vectorized_for(count, [to = to + at, slope, factor = *g](std::int64_t i) { to[i] = slope[i] * factor; });
          } else {
            vectorized_for(count,
                           [to = to + at, slope, factor = g + at](std::int64_t i) { to[i] = slope[i] * factor[i]; });
          }
        };
        put(to_x, slopes_x.data());
        put(to_y, slopes_y.data());
      });
    });
  });
}

bool all_probabilities(const Tensor& x) {
  return dispatch_floating("pair_loss", x.dtype(), [&]<class T>(std::type_identity<T>) {
    return sum_of(x.numel(), [p = elements<T>(x)](std::int64_t i) { return p[i] >= T{0} && p[i] <= T{1} ? 0 : 1; }) ==
           0.0;
  });
}

}  // namespace

const kernels::PairLossKernels pair_loss_kernels{.pair_loss = pair_loss,
                                                 .pair_loss_sum = pair_loss_sum,
                                                 .pair_loss_backward = pair_loss_backward,
                                                 .all_probabilities = all_probabilities};

}  // namespace troupe::cpu
