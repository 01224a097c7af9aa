#include <algorithm>
#include <array>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/moments.h"
#include "tensor/cpu/normalization.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

constexpr std::int64_t kColumns = 256;  // channels that are summed side by side where a channel has no run of elements

// Calls f(first channel, how many) for all channels: one at a time, or columns of neighbours where inner is 1.
template <class F>
void for_each_tile(const Tensor& x, const F& f) {
  const std::int64_t channels = x.size(1);
  const std::int64_t width = x.size(2) == 1 ? kColumns : 1;
  const std::int64_t tiles = (channels + width - 1) / width;
  parallel_for(tiles, x.size(0) * x.size(2) * width * 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) f(tile * width, std::min(width, channels - tile * width));
  });
}

// pair_sums for each of `count` channels from `channel` on; u and v take the place in x and the channel's number here.
template <class U, class V>
std::array<PairSums, kColumns> sums_of_tile(const Tensor& x, std::int64_t channel, std::int64_t count, const U& u,
                                            const V& v) {
  const std::int64_t inner = x.size(2);
  const std::int64_t step = x.size(1) * inner;
  std::array<PairSums, kColumns> sums{};
  if (inner > 1) {
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      const std::int64_t at = i * step + channel * inner;
      sums[0].add(pair_sums(
          inner, [&](std::int64_t j) { return u(at + j, 0U); }, [&](std::int64_t j) { return v(at + j, 0U); }));
    }
    return sums;
  }
  std::array<double, kColumns> firsts{};
  std::array<double, kColumns> products{};
  const auto columns = static_cast<std::size_t>(count);
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const std::int64_t at = i * step + channel;
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = u(at + static_cast<std::int64_t>(j), j);
      firsts[j] += value;
      products[j] += value * v(at + static_cast<std::int64_t>(j), j);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) sums[j] = {firsts[j], products[j]};
  return sums;
}

// Calls f(place in x, the channel's number here) for every element of the channels of a tile.
template <class F>
void for_each_element(const Tensor& x, std::int64_t channel, std::int64_t count, const F& f) {
  const std::int64_t inner = x.size(2);
  const std::int64_t step = x.size(1) * inner;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const std::int64_t at = i * step + channel * inner;
    if (inner > 1) {
      for (std::int64_t j = 0; j < inner; ++j) f(at + j, 0U);
    } else {
      for (std::size_t j = 0; j < static_cast<std::size_t>(count); ++j) f(at + static_cast<std::int64_t>(j), j);
    }
  }
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
  const std::int64_t inner = x.size(2);
  const auto count_per_channel = static_cast<double>(x.size(0) * inner);
  for_each_tile(x, [&](std::int64_t channel, std::int64_t count) {
    if (moments == Moments::computed) {
      std::array<double, kColumns> origins{};
      for (std::int64_t j = 0; j < count; ++j)
        origins[static_cast<std::size_t>(j)] = static_cast<double>(from[(channel + j) * inner]);
      const auto distance = [&](std::int64_t at, std::size_t j) { return static_cast<double>(from[at]) - origins[j]; };
      const auto sums = sums_of_tile(x, channel, count, distance, distance);
      for (std::int64_t j = 0; j < count; ++j) {
        const auto k = static_cast<std::size_t>(j);
        const MeanAndVar found(origins[k], sums[k], count_per_channel);
        means[channel + j] = found.mean;
        vars[channel + j] = found.var;
      }
    }
    std::array<T, kColumns> middle{};
    std::array<T, kColumns> scale{};
    std::array<T, kColumns> shift{};
    for (std::int64_t j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(j);
      middle[k] = static_cast<T>(means[channel + j]);
      scale[k] = static_cast<T>(inverse_std(vars[channel + j], eps) * static_cast<double>(w[channel + j]));
      shift[k] = b[channel + j];
    }
    for_each_element(x, channel, count, [&](std::int64_t at, std::size_t j) {
      to[at] = Affine<T>{middle[j], scale[j], shift[j]}(from[at]);
    });
  });
}

template <class T>
void batch_norm_backward_of(Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad,
                            const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  T* const to = mutable_elements<T>(grad_x);
  double* const by_weight = mutable_elements<double>(grad_weight);
  double* const by_bias = mutable_elements<double>(grad_bias);
  const T* const g = elements<T>(grad);
  const T* const from = elements<T>(x);
  const double* const means = elements<double>(mean);
  const double* const vars = elements<double>(var);
  const T* const w = elements<T>(weight);
  const auto count_per_channel = static_cast<double>(x.size(0) * x.size(2));
  for_each_tile(x, [&](std::int64_t channel, std::int64_t count) {
    const auto sums = sums_of_tile(
        x, channel, count, [&](std::int64_t at, std::size_t) { return static_cast<double>(g[at]); },
        [&](std::int64_t at, std::size_t j) {
          return static_cast<double>(from[at]) - means[channel + static_cast<std::int64_t>(j)];
        });
    std::array<Slope<T>, kColumns> slopes{};
    for (std::int64_t j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(j);
      const double inverse = inverse_std(vars[channel + j], eps);
      by_weight[channel + j] = sums[k].product * inverse;
      by_bias[channel + j] = sums[k].first;
      const auto factor = static_cast<double>(w[channel + j]);
      const PairSums weighted{sums[k].first * factor, sums[k].product * factor};
      // Given moments do not move with x.
      slopes[k] = slope_of<T>(means[channel + j], inverse, moments == Moments::given ? PairSums{} : weighted,
                              count_per_channel, factor);
    }
    for_each_element(x, channel, count, [&](std::int64_t at, std::size_t j) { to[at] = slopes[j](g[at], from[at]); });
  });
}

}  // namespace

void batch_norm(Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double eps) {
  dispatch_floating("batch_norm", x.dtype(), [&]<class T>(std::type_identity<T>) {
    batch_norm_of<T>(moments, out, mean, var, x, weight, bias, eps);
  });
}

void batch_norm_backward(Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  dispatch_floating("batch_norm_backward", x.dtype(), [&]<class T>(std::type_identity<T>) {
    batch_norm_backward_of<T>(moments, grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps);
  });
}

}  // namespace troupe::cpu
