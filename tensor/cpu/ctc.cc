#include "tensor/kernels/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {

using kernels::CtcExamples;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Returns log(exp(a) + exp(b)). Both may be log(0).
double log_sum(double a, double b) {
  const bool first = a > b || a != a;  // NaN is the larger one
  const double top = first ? a : b;
  return top == kNever ? kNever : top + std::log1p(std::exp((first ? b : a) - top));
}

/// The alignments of one example: paths over its labels with a blank before, between and after them, 2 s + 1 places.
template <class T>
class Ways {
 public:
  Ways(const CtcExamples& examples, std::int64_t number)
      : target_(examples.targets[static_cast<std::size_t>(number)]),
        blank_(examples.blank),
        steps_(examples.steps[static_cast<std::size_t>(number)]),
        places_(2 * std::ssize(target_) + 1),
        step_stride_(examples.log_probs.size(1) * examples.log_probs.size(2)),
        first_(number * examples.log_probs.size(2)),
        log_probs_(elements<T>(examples.log_probs) + first_) {}

  /// Returns the log probability of reaching each place at each step, that step included.
  [[nodiscard]] std::vector<double> forward() const {
    std::vector<double> sums(size(), kNever);
    for (std::int64_t t = 0; t < steps_; ++t) {
      for (std::int64_t s = 0; s < places_; ++s) {
        double before = t == 0 ? (s < 2 ? 0.0 : kNever) : at(sums, t - 1, s);
        if (t > 0 && s > 0) before = log_sum(before, at(sums, t - 1, s - 1));
        if (t > 0 && s > 1 && may_skip(s)) before = log_sum(before, at(sums, t - 1, s - 2));
        at(sums, t, s) = before + log_prob(t, s);
      }
    }
    return sums;
  }

  /// Returns the log probability of continuing from each place to the end, that step excluded.
  [[nodiscard]] std::vector<double> onward() const {
    std::vector<double> sums(size(), kNever);
    for (std::int64_t t = steps_ - 1; t >= 0; --t) {
      for (std::int64_t s = 0; s < places_; ++s) {
        if (t == steps_ - 1) {
          at(sums, t, s) = s + 2 >= places_ ? 0.0 : kNever;
          continue;
        }
        const auto through = [&](std::int64_t next) { return at(sums, t + 1, next) + log_prob(t + 1, next); };
        double after = through(s);
        if (s + 1 < places_) after = log_sum(after, through(s + 1));
        if (s + 2 < places_ && may_skip(s + 2)) after = log_sum(after, through(s + 2));
        at(sums, t, s) = after;
      }
    }
    return sums;
  }

  [[nodiscard]] double loss() const {
    if (steps_ == 0) return target_.empty() ? 0.0 : -kNever;
    const std::vector<double> sums = forward();
    const double last = at(sums, steps_ - 1, places_ - 1);
    return -(places_ == 1 ? last : log_sum(last, at(sums, steps_ - 1, places_ - 2)));
  }

  /// Adds `grad` times the gradient by the log probabilities: minus the probability of being at a class.
  void add_gradient(T* out, double grad, double loss) const {
    const std::vector<double> before = forward();
    const std::vector<double> after = onward();
    for (std::int64_t t = 0; t < steps_; ++t) {
      for (std::int64_t s = 0; s < places_; ++s) {
        out[first_ + t * step_stride_ + label(s)] -=
            static_cast<T>(grad * std::exp(at(before, t, s) + at(after, t, s) + loss));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(steps_ * places_); }
  template <class Sums>
  auto& at(Sums& sums, std::int64_t t, std::int64_t s) const {
    return sums[static_cast<std::size_t>(t * places_ + s)];
  }

  [[nodiscard]] std::int64_t label(std::int64_t s) const {
    return s % 2 == 0 ? blank_ : target_[static_cast<std::size_t>(s / 2)];
  }
  /// Returns whether a path may reach `s` from place s - 2: not across the blank between equal labels.
  [[nodiscard]] bool may_skip(std::int64_t s) const { return s % 2 == 1 && label(s) != label(s - 2); }
  [[nodiscard]] double log_prob(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(log_probs_[t * step_stride_ + label(s)]);
  }

  std::span<const std::int64_t> target_;
  std::int64_t blank_;
  std::int64_t steps_;
  std::int64_t places_;
  std::int64_t step_stride_;
  std::int64_t first_;
  const T* log_probs_;
};

/// Returns the cost of an example, in elements.
std::int64_t cost_of(const CtcExamples& examples) {
  std::int64_t longest = 1;
  for (const auto& target : examples.targets) longest = std::max(longest, 2 * std::ssize(target) + 1);
  return examples.log_probs.size(0) * longest * 64;
}

void ctc(Tensor& losses, const CtcExamples& examples) {
  double* const out = mutable_elements<double>(losses);
  dispatch_floating("ctc", examples.log_probs.dtype(), [&]<class T>(std::type_identity<T>) {
    parallel_for(losses.numel(), cost_of(examples), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) out[n] = Ways<T>(examples, n).loss();
    });
  });
}

void ctc_backward(Tensor& out, const Tensor& grad, const CtcExamples& examples, const Tensor& losses) {
  dispatch_floating("ctc_backward", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const double* const from = elements<double>(grad);
    const double* const loss = elements<double>(losses);
    parallel_for(losses.numel(), cost_of(examples), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        if (from[n] != 0.0) Ways<T>(examples, n).add_gradient(to, from[n], loss[n]);
      }
    });
  });
}

}  // namespace

const kernels::CtcKernels ctc_kernels{.ctc = ctc, .ctc_backward = ctc_backward};

}  // namespace troupe::cpu
