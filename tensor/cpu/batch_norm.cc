#include <algorithm>
#include <array>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/moments.h"
#include "tensor/kernels/normalization.h"

namespace troupe::cpu {

using kernels::Affine;
using kernels::inverse_std;
using kernels::MeanAndVar;
using kernels::Moments;
using kernels::pair_sums;
using kernels::PairSums;
using kernels::Scale;
using kernels::Slope;
using kernels::slope_of;

namespace {

// The layout of channels: each has a run of `inner` elements in each of `outer`, and its runs are `step` elements
// apart.
struct Layout {
  std::int64_t outer;
  std::int64_t channels;
  std::int64_t inner;
  std::int64_t step;
  explicit Layout(const Tensor& x)
      : outer(x.size(0)), channels(x.size(1)), inner(x.size(2)), step(x.size(1) * x.size(2)) {}
  [[nodiscard]] double count() const { return static_cast<double>(outer * inner); }
};

// Channels with runs of one element are computed side by side, this many at a time.
constexpr std::int64_t kColumns = 256;
template <class T>
using Columns = std::array<T, static_cast<std::size_t>(kColumns)>;

template <class T>
[[gnu::always_inline]] inline PairSums distances_of_channel(const T* x, Layout at) {
  const auto origin = static_cast<double>(x[0]);
  PairSums sums;
  for (std::int64_t i = 0; i < at.outer; ++i) {
    const T* const run = x + i * at.step;
    const auto distance = [run, origin](std::int64_t j) { return static_cast<double>(run[j]) - origin; };
    sums.add(pair_sums(at.inner, distance, distance));
  }
  return sums;
}

template <class T>
[[gnu::always_inline]] inline void normalise_channel(T* y, const T* x, Layout at, Affine<T> affine) {
  for (std::int64_t i = 0; i < at.outer; ++i) {
    for (std::int64_t j = i * at.step; j < i * at.step + at.inner; ++j) y[j] = affine(x[j]);
  }
}

// Returns the sums of grad and of grad * (x - mean).
template <class T>
[[gnu::always_inline]] inline PairSums gradient_sums_of_channel(const T* grad, const T* x, Layout at, double mean) {
  PairSums sums;
  for (std::int64_t i = 0; i < at.outer; ++i) {
    const T* const g = grad + i * at.step;
    const T* const run = x + i * at.step;
    sums.add(pair_sums(
        at.inner, [g](std::int64_t j) { return static_cast<double>(g[j]); },
        [run, mean](std::int64_t j) { return static_cast<double>(run[j]) - mean; }));
  }
  return sums;
}

template <class T, class Map>
[[gnu::always_inline]] inline void gradient_of_channel(T* to, const T* grad, const T* x, Layout at, Map map) {
  for (std::int64_t i = 0; i < at.outer; ++i) {
    for (std::int64_t j = i * at.step; j < i * at.step + at.inner; ++j) to[j] = map(grad[j], x[j]);
  }
}

// For `count` adjacent channels: firsts[j] = the sum of u(place, j), products[j] = the sum of u(place, j) * v(place,
// j).
template <class U, class V>
[[gnu::always_inline]] inline void sum_columns(Columns<double>& firsts, Columns<double>& products, Layout at,
                                               std::size_t count, const U& u, const V& v) {
  firsts.fill(0.0);
  products.fill(0.0);
  for (std::int64_t i = 0; i < at.outer; ++i) {
    const auto row = static_cast<std::size_t>(i * at.step);
    for (std::size_t j = 0; j < count; ++j) {
      const double value = u(row + j, j);
      firsts[j] += value;
      products[j] += value * v(row + j, j);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void moments_of_columns(double* mean, double* var, const T* x, Layout at,
                                                      std::size_t count) {
  Columns<double> firsts;
  Columns<double> products;
  const auto distance = [x](std::size_t i, std::size_t j) {
    return static_cast<double>(x[i]) - static_cast<double>(x[j]);
  };
  sum_columns(firsts, products, at, count, distance, distance);
  for (std::size_t j = 0; j < count; ++j) {
    const MeanAndVar found(static_cast<double>(x[j]), {firsts[j], products[j]}, at.count());
    mean[j] = found.mean;
    var[j] = found.var;
  }
}

template <class T>
[[gnu::always_inline]] inline void normalise_columns(T* y, const T* x, Layout at, std::size_t count, const double* mean,
                                                     const double* var, const T* weight, const T* bias, double eps) {
  Columns<T> middle;
  Columns<T> scale;
  for (std::size_t j = 0; j < count; ++j) {
    middle[j] = static_cast<T>(mean[j]);
    scale[j] = static_cast<T>(inverse_std(var[j], eps) * static_cast<double>(weight[j]));
  }
  for (std::int64_t i = 0; i < at.outer; ++i, y += at.step, x += at.step) {
    for (std::size_t j = 0; j < count; ++j) y[j] = Affine<T>{middle[j], scale[j], bias[j]}(x[j]);
  }
}

template <class T>
[[gnu::always_inline]] inline void gradient_sums_of_columns(Columns<double>& firsts, Columns<double>& products,
                                                            const T* grad, const T* x, Layout at, std::size_t count,
                                                            const double* mean) {
  sum_columns(
      firsts, products, at, count, [grad](std::size_t i, std::size_t) { return static_cast<double>(grad[i]); },
      [x, mean](std::size_t i, std::size_t j) { return static_cast<double>(x[i]) - mean[j]; });
}

template <class T>
[[gnu::always_inline]] inline void gradient_of_columns(T* to, const T* grad, const T* x, Layout at, std::size_t count,
                                                       const Columns<Slope<T>>& slopes) {
  Columns<T> mean;
  Columns<T> by_grad;
  Columns<T> by_distance;
  Columns<T> constant;
  for (std::size_t j = 0; j < count; ++j) {
    mean[j] = slopes[j].mean;
    by_grad[j] = slopes[j].by_grad;
    by_distance[j] = slopes[j].by_distance;
    constant[j] = slopes[j].constant;
  }
  for (std::int64_t i = 0; i < at.outer; ++i, to += at.step, grad += at.step, x += at.step) {
    for (std::size_t j = 0; j < count; ++j) {
      to[j] = Slope<T>{mean[j], by_grad[j], by_distance[j], constant[j]}(grad[j], x[j]);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void gradient_of_columns(T* to, const T* grad, const T*, Layout at, std::size_t count,
                                                       const Columns<Scale<T>>& scales) {
  for (std::int64_t i = 0; i < at.outer; ++i, to += at.step, grad += at.step) {
    for (std::size_t j = 0; j < count; ++j) to[j] = scales[j].by_grad * grad[j];
  }
}

// Calls one(channel) if runs have several elements, else several(first channel, count), compiled for the processor.
template <class One, class Several>
void for_each_channel(Layout at, const One& one, const Several& several) {
  if (at.inner > 1) {
    parallel_for(at.channels, at.outer * at.inner * 4, [&](std::int64_t begin, std::int64_t end) {
      vectorized([&one, begin, end ]() __attribute__((always_inline)) {
        for (std::int64_t channel = begin; channel < end; ++channel) one(channel);
      });
    });
    return;
  }
  const std::int64_t columns = (at.channels + kColumns - 1) / kColumns;
  parallel_for(columns, at.outer * kColumns * 4, [&](std::int64_t begin, std::int64_t end) {
    vectorized([&several, first = begin * kColumns, last = std::min(end * kColumns, at.channels) ]()
                   __attribute__((always_inline)) {
                     for (std::int64_t c = first; c < last; c += kColumns)
                       several(c, static_cast<std::size_t>(std::min(kColumns, last - c)));
                   });
  });
}

template <class T>
void batch_norm_of(Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                   const Tensor& bias, double eps) {
  T* const to = mutable_elements<T>(out);
  double* const means = mutable_elements<double>(mean);
  double* const vars = mutable_elements<double>(var);
  const T* const from = elements<T>(x);
  const T* const w = elements<T>(weight);
  const T* const b = elements<T>(bias);
  const Layout at(x);
  const auto one = [&](std::int64_t c) __attribute__((always_inline)) {
    const T* const in = from + c * at.inner;
    if (moments == Moments::computed) {
      const MeanAndVar found(static_cast<double>(in[0]), distances_of_channel(in, at), at.count());
      means[c] = found.mean;
      vars[c] = found.var;
    }
    const double scale = inverse_std(vars[c], eps) * static_cast<double>(w[c]);
    normalise_channel(to + c * at.inner, in, at, Affine<T>{static_cast<T>(means[c]), static_cast<T>(scale), b[c]});
  };
  const auto several = [&](std::int64_t c, std::size_t count) __attribute__((always_inline)) {
    if (moments == Moments::computed) moments_of_columns(means + c, vars + c, from + c, at, count);
    normalise_columns(to + c, from + c, at, count, means + c, vars + c, w + c, b + c, eps);
  };
  for_each_channel(at, one, several);
}

// Map<T> is Slope<T>, or Scale<T> for given moments, which do not depend on x.
template <class T, template <class> class Map>
void batch_norm_backward_of(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                            const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  T* const to = mutable_elements<T>(grad_x);
  double* const by_weight = mutable_elements<double>(grad_weight);
  double* const by_bias = mutable_elements<double>(grad_bias);
  const T* const g = elements<T>(grad);
  const T* const from = elements<T>(x);
  const double* const means = elements<double>(mean);
  const double* const vars = elements<double>(var);
  const T* const w = elements<T>(weight);
  const Layout at(x);
  // Stores the sums of a channel and returns the map to its gradient.
  const auto take_in = [&](std::int64_t c, const PairSums& sums) {
    const double inverse = inverse_std(vars[c], eps);
    by_weight[c] = sums.product * inverse;
    by_bias[c] = sums.first;
    const auto factor = static_cast<double>(w[c]);
    const PairSums weighted{sums.first * factor, sums.product * factor};
    return Map<T>(slope_of<T>(means[c], inverse, weighted, at.count(), factor));
  };
  const auto one = [&](std::int64_t c) __attribute__((always_inline)) {
    const std::int64_t first = c * at.inner;
    const Map<T> map = take_in(c, gradient_sums_of_channel(g + first, from + first, at, means[c]));
    gradient_of_channel(to + first, g + first, from + first, at, map);
  };
  const auto several = [&](std::int64_t c, std::size_t count) __attribute__((always_inline)) {
    Columns<double> firsts;
    Columns<double> products;
    gradient_sums_of_columns(firsts, products, g + c, from + c, at, count, means + c);
    Columns<Map<T>> maps;
    for (std::size_t j = 0; j < count; ++j) {
      maps[j] = take_in(c + static_cast<std::int64_t>(j), {firsts[j], products[j]});
    }
    gradient_of_columns(to + c, g + c, from + c, at, count, maps);
  };
  for_each_channel(at, one, several);
}

void batch_norm(Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double eps) {
  dispatch_floating("batch_norm", x.dtype(), [&]<class T>(std::type_identity<T>) {
    batch_norm_of<T>(moments, out, mean, var, x, weight, bias, eps);
  });
}

void batch_norm_backward(Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  dispatch_floating("batch_norm_backward", x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto run = moments == Moments::given ? batch_norm_backward_of<T, Scale> : batch_norm_backward_of<T, Slope>;
    run(grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps);
  });
}

}  // namespace

const kernels::BatchNormKernels batch_norm_kernels{.batch_norm = batch_norm,
                                                   .batch_norm_backward = batch_norm_backward};

}  // namespace troupe::cpu
