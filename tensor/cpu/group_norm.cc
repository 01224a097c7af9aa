#include <algorithm>
#include <array>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/moments.h"
#include "tensor/kernels/normalization.h"

namespace troupe::cpu {

using kernels::Affine;
using kernels::inverse_std;
using kernels::MeanAndVar;
using kernels::pair_sums;
using kernels::PairSums;
using kernels::slope_of;

namespace {

constexpr std::int64_t kParts = 16;  // parts of the rows; each sums the gradients by weight and bias separately
constexpr std::int64_t kRows = 4;    // rows summed in the dtype of x before they are added in f64

// The sizes of x (outer, groups, channels, inner). A row is one group of one outer element.
struct Groups {
  std::int64_t outer;
  std::int64_t groups;
  std::int64_t channels;
  std::int64_t inner;
  explicit Groups(const Tensor& x) : outer(x.size(0)), groups(x.size(1)), channels(x.size(2)), inner(x.size(3)) {}
  [[nodiscard]] std::int64_t row_size() const { return channels * inner; }
  [[nodiscard]] std::int64_t first_channel(std::int64_t row) const { return row % groups * channels; }
};

template <class T>
[[gnu::always_inline]] inline MeanAndVar normalise_row(T* y, const T* x, const T* weight, const T* bias, Groups sizes,
                                                       double eps) {
  const auto origin = static_cast<double>(x[0]);
  const auto distance = [x, origin](std::int64_t i) { return static_cast<double>(x[i]) - origin; };
  const std::int64_t size = sizes.row_size();
  const MeanAndVar found(origin, pair_sums(size, distance, distance), static_cast<double>(size));
  const double inverse = inverse_std(found.var, eps);
  const auto middle = static_cast<T>(found.mean);
  if (sizes.inner == 1) {
    const auto scale = static_cast<T>(inverse);
    for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - middle) * scale * weight[i] + bias[i];
    return found;
  }
  for (std::int64_t c = 0; c < sizes.channels; ++c) {
    const Affine<T> affine{middle, static_cast<T>(inverse * static_cast<double>(weight[c])), bias[c]};
    for (std::int64_t i = c * sizes.inner; i < (c + 1) * sizes.inner; ++i) y[i] = affine(x[i]);
  }
  return found;
}

template <class T>
void group_norm_of(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   double eps) {
  T* const to = mutable_elements<T>(out);
  double* const means = mutable_elements<double>(mean);
  double* const vars = mutable_elements<double>(var);
  const T* const from = elements<T>(x);
  const T* const w = elements<T>(weight);
  const T* const b = elements<T>(bias);
  const Groups sizes(x);
  const std::int64_t size = sizes.row_size();
  parallel_for(sizes.outer * sizes.groups, size * 4, [&](std::int64_t begin, std::int64_t end) {
    vectorized([=]() __attribute__((always_inline)) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t channel = sizes.first_channel(row);
        const MeanAndVar found =
            normalise_row(to + row * size, from + row * size, w + channel, b + channel, sizes, eps);
        means[row] = found.mean;
        vars[row] = found.var;
      }
    });
  });
}

// One row in the backward pass: its inputs and the address of its gradient.
template <class T>
struct BackwardRow {
  T* to;
  const T* grad;
  const T* x;
  double mean;
  double inverse;
  [[nodiscard]] double distance(std::int64_t i) const { return static_cast<double>(x[i]) - mean; }
};

// Computes the gradient by `row` if each element has its own weight.
template <class T>
[[gnu::always_inline]] inline void backward_by_element(BackwardRow<T> row, const T* weight, std::int64_t size) {
  const PairSums sums = pair_sums(
      size, [&](std::int64_t i) { return static_cast<double>(row.grad[i] * weight[i]); },
      [&](std::int64_t i) { return row.distance(i); });
  const auto slope = slope_of<T>(row.mean, row.inverse, sums, static_cast<double>(size), 1.0);
  for (std::int64_t i = 0; i < size; ++i) row.to[i] = slope(row.grad[i] * weight[i], row.x[i]);
}

// Adds the contributions of `rows` rows to each element of by_weight and by_bias.
template <std::size_t rows, class T>
[[gnu::always_inline]] inline void add_by_element(double* by_weight, double* by_bias, const BackwardRow<T>* row,
                                                  std::int64_t size) {
  std::array<T, rows> middle;
  std::array<T, rows> scale;
  std::array<const T*, rows> grad;
  std::array<const T*, rows> x;
  for (std::size_t r = 0; r < rows; ++r) {
    middle[r] = static_cast<T>(row[r].mean);
    scale[r] = static_cast<T>(row[r].inverse);
    grad[r] = row[r].grad;
    x[r] = row[r].x;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    T weighted{0};
    T plain{0};
    for (std::size_t r = 0; r < rows; ++r) {
      const T g = grad[r][i];
      weighted += g * ((x[r][i] - middle[r]) * scale[r]);
      plain += g;
    }
    by_weight[i] += static_cast<double>(weighted);
    by_bias[i] += static_cast<double>(plain);
  }
}

// Computes the gradient by `row` if each weight belongs to `inner` elements, and adds to the gradients by weight and
// bias.
template <class T>
[[gnu::always_inline]] inline void backward_by_channel(double* by_weight, double* by_bias, BackwardRow<T> row,
                                                       const T* weight, std::int64_t channels, std::int64_t inner) {
  PairSums weighted;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t at = c * inner;
    const PairSums sums = pair_sums(
        inner, [&](std::int64_t i) { return static_cast<double>(row.grad[at + i]); },
        [&](std::int64_t i) { return row.distance(at + i); });
    by_weight[c] += sums.product * row.inverse;
    by_bias[c] += sums.first;
    const auto factor = static_cast<double>(weight[c]);
    weighted.add({sums.first * factor, sums.product * factor});
  }
  const auto count = static_cast<double>(channels * inner);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto slope = slope_of<T>(row.mean, row.inverse, weighted, count, static_cast<double>(weight[c]));
    for (std::int64_t i = c * inner; i < (c + 1) * inner; ++i) row.to[i] = slope(row.grad[i], row.x[i]);
  }
}

// A backward pass over all rows.
template <class T>
struct Backward {
  T* to;
  const T* grad;
  const T* x;
  const T* weight;
  const double* mean;
  const double* var;
  double eps;
  Groups sizes;

  [[gnu::always_inline]] BackwardRow<T> row(std::int64_t i) const {
    const std::int64_t at = i * sizes.row_size();
    return {to + at, grad + at, x + at, mean[i], inverse_std(var[i], eps)};
  }

  // Processes rows [i, end). by_weight and by_bias have one element per channel.
  [[gnu::always_inline]] void run(double* by_weight, double* by_bias, std::int64_t i, std::int64_t end) const {
    const std::int64_t size = sizes.row_size();
    for (; sizes.inner == 1 && sizes.groups == 1 && i + kRows <= end; i += kRows) {
      const std::array<BackwardRow<T>, kRows> rows{row(i), row(i + 1), row(i + 2), row(i + 3)};
      add_by_element<kRows>(by_weight, by_bias, rows.data(), size);
      for (const BackwardRow<T>& one : rows) backward_by_element(one, weight, size);
    }
    for (; i < end; ++i) {
      const BackwardRow<T> one = row(i);
      const std::int64_t c = sizes.first_channel(i);
      if (sizes.inner > 1) {
        backward_by_channel(by_weight + c, by_bias + c, one, weight + c, sizes.channels, sizes.inner);
      } else {
        add_by_element<1>(by_weight + c, by_bias + c, &one, size);
        backward_by_element(one, weight + c, size);
      }
    }
  }
};

// sums[i] = the sum of element i of all parts, in their order.
void join_parts(double* sums, const std::vector<double>& parts, std::int64_t size) {
  std::fill(sums, sums + size, 0.0);
  for (std::size_t at = 0; at < parts.size(); at += static_cast<std::size_t>(size)) {
    for (std::int64_t i = 0; i < size; ++i) sums[i] += parts[at + static_cast<std::size_t>(i)];
  }
}

template <class T>
void group_norm_backward_of(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                            const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  T* const to = mutable_elements<T>(grad_x);
  const Groups sizes(x);
  const Backward<T> backward{
      to,   elements<T>(grad), elements<T>(x), elements<T>(weight), elements<double>(mean), elements<double>(var), eps,
      sizes};
  const std::int64_t all_channels = sizes.groups * sizes.channels;
  const std::int64_t parts = std::min(kParts, sizes.outer);
  std::vector<double> by_weight(static_cast<std::size_t>(parts * all_channels), 0.0);
  std::vector<double> by_bias(by_weight.size(), 0.0);
  parallel_for(parts, x.numel() / parts * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      double* const weights = by_weight.data() + part * all_channels;
      double* const biases = by_bias.data() + part * all_channels;
      const std::int64_t first = sizes.outer * part / parts * sizes.groups;
      const std::int64_t last = sizes.outer * (part + 1) / parts * sizes.groups;
      vectorized([=]() __attribute__((always_inline)) { backward.run(weights, biases, first, last); });
    }
  });
  join_parts(mutable_elements<double>(grad_weight), by_weight, all_channels);
  join_parts(mutable_elements<double>(grad_bias), by_bias, all_channels);
}

void group_norm(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double eps) {
  dispatch_floating("group_norm", x.dtype(),
                    [&]<class T>(std::type_identity<T>) { group_norm_of<T>(out, mean, var, x, weight, bias, eps); });
}

void group_norm_backward(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                         const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  dispatch_floating("group_norm_backward", x.dtype(), [&]<class T>(std::type_identity<T>) {
    group_norm_backward_of<T>(grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps);
  });
}

}  // namespace

const kernels::GroupNormKernels group_norm_kernels{.group_norm = group_norm,
                                                   .group_norm_backward = group_norm_backward};

}  // namespace troupe::cpu
