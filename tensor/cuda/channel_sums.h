// Sums over the elements of each channel of x (outer, channels, inner), for any launcher, see launcher.h.
//
// Each channel is summed in parts, and the parts are added in order. The number of parts depends only on the sizes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/moments.h"

namespace troupe::cuda {

/// The sizes of x (outer, channels, inner).
struct ChannelSizes {
  std::int64_t outer;
  std::int64_t channels;
  std::int64_t inner;

  explicit ChannelSizes(const Tensor& x) : outer(x.size(0)), channels(x.size(1)), inner(x.size(2)) {}
  [[nodiscard]] TROUPE_HOST_DEVICE double count() const { return static_cast<double>(outer * inner); }
};

/// How each channel is split into parts of `outer_step` of the outer and `inner_step` of the inner dimension.
struct ChannelParts {
  bool by_columns;  ///< one thread per part, adjacent threads for adjacent channels; else one team per part
  std::int64_t outer_step;
  std::int64_t inner_step;
  std::int64_t across;  ///< parts along the inner dimension
  std::int64_t count;

  explicit ChannelParts(const ChannelSizes& sizes) : by_columns(sizes.inner < 32) {
    constexpr std::int64_t kThreads = std::int64_t{1} << 16;
    constexpr std::int64_t kTeams = std::int64_t{1} << 11;
    constexpr std::int64_t kPartsMax = 256;
    constexpr std::int64_t kInnerMin = 1 << 12;
    const std::int64_t wanted =
        std::min(((by_columns ? kThreads : kTeams) + sizes.channels - 1) / sizes.channels, kPartsMax);
    const std::int64_t down = std::clamp(by_columns ? sizes.outer * sizes.inner / 16 : wanted, std::int64_t{1},
                                         std::min(wanted, sizes.outer));
    outer_step = (sizes.outer + down - 1) / down;
    const std::int64_t cut =
        by_columns ? 1 : std::clamp(wanted / down, std::int64_t{1}, (sizes.inner + kInnerMin - 1) / kInnerMin);
    inner_step = (sizes.inner + cut - 1) / cut;
    across = (sizes.inner + inner_step - 1) / inner_step;
    count = (sizes.outer + outer_step - 1) / outer_step * across;
  }
};

/// The distances from the channel's first element, and their squares.
template <class T>
struct Distances {
  const T* x;
  std::int64_t inner;

  [[nodiscard]] TROUPE_HOST_DEVICE double origin(std::int64_t channel) const {
    return static_cast<double>(x[channel * inner]);
  }
  [[nodiscard]] TROUPE_HOST_DEVICE kernels::PairSums at(std::int64_t i, double from) const {
    const double distance = static_cast<double>(x[i]) - from;
    return {distance, distance * distance};
  }
};

/// The gradients, and the gradients times the distance of x from the mean.
template <class T>
struct GradientPairs {
  const T* grad;
  const T* x;
  const double* means;

  [[nodiscard]] TROUPE_HOST_DEVICE double origin(std::int64_t channel) const { return means[channel]; }
  [[nodiscard]] TROUPE_HOST_DEVICE kernels::PairSums at(std::int64_t i, double from) const {
    const auto slope = static_cast<double>(grad[i]);
    return {slope, slope * (static_cast<double>(x[i]) - from)};
  }
};

/// The sums of part p of channel c, at p * channels + c.
template <class Pairs>
struct PartSums {
  ChannelSizes sizes;
  ChannelParts parts;
  Pairs pairs;
  double* firsts;
  double* products;

  /// Returns the sums over every `step`th element of each run of part `i`, from element `lane` on.
  [[nodiscard]] TROUPE_HOST_DEVICE kernels::PairSums sums(std::int64_t i, std::int64_t lane, std::int64_t step) const {
    const std::int64_t channel = i % sizes.channels;
    const std::int64_t part = i / sizes.channels;
    const std::int64_t down = part / parts.across * parts.outer_step;
    const std::int64_t down_end = down + parts.outer_step < sizes.outer ? down + parts.outer_step : sizes.outer;
    const std::int64_t along = part % parts.across * parts.inner_step;
    const std::int64_t along_end = along + parts.inner_step < sizes.inner ? along + parts.inner_step : sizes.inner;
    const double from = pairs.origin(channel);
    kernels::PairSums total;
    for (std::int64_t k = down; k < down_end; ++k) {
      const std::int64_t run = (k * sizes.channels + channel) * sizes.inner;
      std::int64_t j = along + lane;
      for (; j + (kReads - 1) * step < along_end; j += kReads * step) {
        kernels::PairSums several[kReads];  // more reads are in flight
        for (int n = 0; n < kReads; ++n) several[n] = pairs.at(run + j + n * step, from);
        for (const kernels::PairSums& pair : several) add(total, pair);
      }
      for (; j < along_end; j += step) add(total, pairs.at(run + j, from));
    }
    return total;
  }

 private:
  static constexpr int kReads = 4;

  static TROUPE_HOST_DEVICE void add(kernels::PairSums& total, const kernels::PairSums& pair) {
    total.first += pair.first;
    total.product += pair.product;
  }
};

/// One thread per part.
template <class Pairs>
struct SumColumns {
  PartSums<Pairs> in;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const kernels::PairSums total = in.sums(i, 0, 1);
    in.firsts[i] = total.first;
    in.products[i] = total.product;
  }
};

/// One team per part.
template <class Pairs, int lanes>
struct SumRuns {
  struct Shared {
    double firsts[lanes];
    double products[lanes];
  };
  PartSums<Pairs> in;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    Shared& shared = team.shared;
    team.each([&](int lane) {
      const kernels::PairSums total = in.sums(i, lane, lanes);
      shared.firsts[lane] = total.first;
      shared.products[lane] = total.product;
    });
    join_lanes(team, shared.firsts, shared.products, Plus{});
    team.each([&](int lane) {
      if (lane != 0) return;
      in.firsts[i] = shared.firsts[0];
      in.products[i] = shared.products[0];
    });
  }
};

/// Returns the sum of all parts of a channel.
template <class Pairs>
TROUPE_HOST_DEVICE kernels::PairSums joined(const PartSums<Pairs>& in, std::int64_t channel) {
  kernels::PairSums total;
  for (std::int64_t part = 0; part < in.parts.count; ++part) {
    total.first += in.firsts[part * in.sizes.channels + channel];
    total.product += in.products[part * in.sizes.channels + channel];
  }
  return total;
}

/// Computes the sums of all parts into `room`. REQUIRES: `room` lives as long as the result.
template <class Launcher, class Pairs>
PartSums<Pairs> sum_channels(const Launcher& launcher, const Tensor& x, const Pairs& pairs, Tensor& room) {
  const ChannelSizes sizes(x);
  const ChannelParts parts(sizes);
  const std::int64_t count = parts.count * sizes.channels;
  room = Tensor::empty({2, count}, DType::f64, x.device());
  double* const firsts = address<double>(written(room));
  const PartSums<Pairs> sums{sizes, parts, pairs, firsts, firsts + count};
  if (parts.by_columns) {
    launcher.each(count, SumColumns<Pairs>{sums});
  } else {
    with_lanes(parts.inner_step, [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(count, SumRuns<Pairs, lanes>{sums});
    });
  }
  return sums;
}

}  // namespace troupe::cuda
