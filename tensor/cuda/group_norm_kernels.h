// The kernels of tensor/kernels/normalization.h for any launcher, see launcher.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/norm_operands.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/moments.h"

namespace troupe::cuda {

/// The sizes of x (outer, groups, channels, inner). A row is one group of one outer element.
struct GroupSizes {
  std::int64_t outer;
  std::int64_t groups;
  std::int64_t channels;
  std::int64_t inner;

  explicit GroupSizes(const Tensor& x) : outer(x.size(0)), groups(x.size(1)), channels(x.size(2)), inner(x.size(3)) {}
  [[nodiscard]] std::int64_t rows() const { return outer * groups; }
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t row_size() const { return channels * inner; }
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t all_channels() const { return groups * channels; }
  /// Returns the channel of element i of a row.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t channel(std::int64_t row, std::int64_t i) const {
    return row % groups * channels + (inner == 1 ? i : i / inner);
  }
};

/// One team per row.
template <class T, int lanes>
struct NormRows {
  struct Shared {
    double sums[lanes];
    double squares[lanes];
  };
  GroupSizes sizes;
  double eps;
  T* out;
  double* means;
  double* vars;
  const T* x;
  const T* weight;
  const T* bias;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t row) const {
    const std::int64_t size = sizes.row_size();
    const T* const from = x + row * size;
    const auto origin = static_cast<double>(from[0]);
    Shared& shared = team.shared;
    team.each([&](int lane) {
      double sum = 0.0;
      double square = 0.0;
      for (std::int64_t i = lane; i < size; i += lanes) {
        const double distance = static_cast<double>(from[i]) - origin;
        sum += distance;
        square += distance * distance;
      }
      shared.sums[lane] = sum;
      shared.squares[lane] = square;
    });
    join_lanes(team, shared.sums, shared.squares, Plus{});
    team.each([&](int lane) {
      const kernels::MeanAndVar found(origin, {shared.sums[0], shared.squares[0]}, static_cast<double>(size));
      if (lane == 0) {
        means[row] = found.mean;
        vars[row] = found.var;
      }
      const auto middle = static_cast<T>(found.mean);
      const auto scale = static_cast<T>(kernels::inverse_std(found.var, eps));
      for (std::int64_t i = lane; i < size; i += lanes) {
        const std::int64_t c = sizes.channel(row, i);
        out[row * size + i] = (from[i] - middle) * scale * weight[c] + bias[c];
      }
    });
  }
};

/// The operands of the backward pass.
template <class T>
struct NormBackward {
  GroupSizes sizes;
  double eps;
  const T* grad;
  const T* x;
  const double* means;
  const double* vars;
  const T* weight;
};

/// The gradient by x: one team per row.
template <class T, int lanes>
struct NormBackwardRows {
  struct Shared {
    double sums[lanes];
    double products[lanes];
  };
  NormBackward<T> in;
  T* out;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t row) const {
    const std::int64_t size = in.sizes.row_size();
    const T* const from = in.x + row * size;
    const T* const grad = in.grad + row * size;
    const double mean = in.means[row];
    Shared& shared = team.shared;
    team.each([&](int lane) {
      double sum = 0.0;
      double product = 0.0;
      for (std::int64_t i = lane; i < size; i += lanes) {
        const auto weighted = static_cast<double>(grad[i] * in.weight[in.sizes.channel(row, i)]);
        sum += weighted;
        product += weighted * (static_cast<double>(from[i]) - mean);
      }
      shared.sums[lane] = sum;
      shared.products[lane] = product;
    });
    join_lanes(team, shared.sums, shared.products, Plus{});
    team.each([&](int lane) {
      const double inverse = kernels::inverse_std(in.vars[row], in.eps);
      const auto slope =
          kernels::slope_of<T>(mean, inverse, {shared.sums[0], shared.products[0]}, static_cast<double>(size), 1.0);
      for (std::int64_t i = lane; i < size; i += lanes) {
        out[row * size + i] = slope(grad[i] * in.weight[in.sizes.channel(row, i)], from[i]);
      }
    });
  }
};

/// The contribution of part p, `chunk` outer elements, to the gradients by weight and bias of channel c, at p *
/// channels + c.
template <class T>
struct AffineParts {
  NormBackward<T> in;
  std::int64_t chunk;
  double* by_weight;
  double* by_bias;

  /// Returns the sums over every `step`th element of the channel in the part, from element `first` on.
  [[nodiscard]] TROUPE_HOST_DEVICE kernels::PairSums sums(std::int64_t part, std::int64_t c, std::int64_t first,
                                                          std::int64_t step) const {
    const GroupSizes& sizes = in.sizes;
    const std::int64_t begin = part * chunk;
    const std::int64_t count = (sizes.outer - begin < chunk ? sizes.outer - begin : chunk) * sizes.inner;
    kernels::PairSums total;
    for (std::int64_t k = first; k < count; k += step) {
      const std::int64_t outer = begin + (sizes.inner == 1 ? k : k / sizes.inner);
      const std::int64_t at =
          (outer * sizes.all_channels() + c) * sizes.inner + (sizes.inner == 1 ? 0 : k % sizes.inner);
      const std::int64_t row = outer * sizes.groups + c / sizes.channels;
      const auto scale = static_cast<T>(kernels::inverse_std(in.vars[row], in.eps));
      const T distance = (in.x[at] - static_cast<T>(in.means[row])) * scale;
      total.first += static_cast<double>(in.grad[at]);
      total.product += static_cast<double>(in.grad[at] * distance);
    }
    return total;
  }

  TROUPE_HOST_DEVICE void put(std::int64_t at, double first, double product) const {
    by_weight[at] = product;
    by_bias[at] = first;
  }
};

/// One thread per channel and part: adjacent threads read adjacent channels.
template <class T>
struct AffineColumns {
  AffineParts<T> parts;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t channels = parts.in.sizes.all_channels();
    const kernels::PairSums total = parts.sums(i / channels, i % channels, 0, 1);
    parts.put(i, total.first, total.product);
  }
};

/// One team per channel and part: adjacent lanes read adjacent elements of the channel.
template <class T>
struct AffineTeams {
  static constexpr int kLanes = 32;
  struct Shared {
    double firsts[kLanes];
    double products[kLanes];
  };
  AffineParts<T> parts;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::int64_t channels = parts.in.sizes.all_channels();
    Shared& shared = team.shared;
    team.each([&](int lane) {
      const kernels::PairSums total = parts.sums(i / channels, i % channels, lane, kLanes);
      shared.firsts[lane] = total.first;
      shared.products[lane] = total.product;
    });
    join_lanes(team, shared.firsts, shared.products, Plus{});
    team.each([&](int lane) {
      if (lane == 0) parts.put(i, shared.firsts[0], shared.products[0]);
    });
  }
};

/// Sums `count` parts in order.
struct JoinAffineParts {
  double* to;
  const double* from;
  std::int64_t channels;
  std::int64_t count;

  TROUPE_HOST_DEVICE void operator()(std::int64_t c) const {
    double total = 0.0;
    for (std::int64_t part = 0; part < count; ++part) total += from[part * channels + c];
    to[c] = total;
  }
};

template <class Launcher>
void group_norm_with(const Launcher& launcher, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x,
                     const Tensor& weight, const Tensor& bias, double eps) {
  const Place to = written(out);
  const Place means = written(mean);
  const Place vars = written(var);
  const GroupSizes sizes(x);
  dispatch_floating("group_norm", x.dtype(), [&]<class T>(std::type_identity<T>) {
    with_lanes(sizes.row_size(), sizes.rows(), [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(
          sizes.rows(), NormRows<T, lanes>{sizes, eps, address<T>(to), address<double>(means), address<double>(vars),
                                           address<T>(read(x)), address<T>(read(weight)), address<T>(read(bias))});
    });
  });
}

/// Computes the gradients by weight and bias, in enough parts to give every multiprocessor work.
template <class T, class Launcher>
void affine_backward_with(const Launcher& launcher, const NormBackward<T>& in, Tensor& grad_weight, Tensor& grad_bias) {
  const GroupSizes& sizes = in.sizes;
  const std::int64_t channels = sizes.all_channels();
  const bool by_columns = sizes.inner < 32;
  const std::int64_t wanted = ((by_columns ? std::int64_t{1} << 16 : std::int64_t{1} << 12) + channels - 1) / channels;
  const std::int64_t most = std::clamp(by_columns ? sizes.outer / 16 : sizes.outer, std::int64_t{1}, std::int64_t{256});
  const std::int64_t chunk = (sizes.outer + std::min(wanted, most) - 1) / std::min(wanted, most);
  const std::int64_t count = (sizes.outer + chunk - 1) / chunk;
  Tensor room = Tensor::empty({2, count, channels}, DType::f64, grad_weight.device());
  double* const by_weight = address<double>(written(room));
  double* const by_bias = by_weight + count * channels;
  const AffineParts<T> parts{in, chunk, by_weight, by_bias};
  if (by_columns) launcher.each(count * channels, AffineColumns<T>{parts});
  else launcher.template teams<AffineTeams<T>::kLanes>(count * channels, AffineTeams<T>{parts});
  launcher.each(channels, JoinAffineParts{address<double>(written(grad_weight)), by_weight, channels, count});
  launcher.each(channels, JoinAffineParts{address<double>(written(grad_bias)), by_bias, channels, count});
}

template <class Launcher>
void group_norm_backward_with(const Launcher& launcher, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias,
                              const NormBackwardOperands& from, double eps) {
  const Place to = written(grad_x);
  const GroupSizes sizes(from.x);
  dispatch_floating("group_norm_backward", from.x.dtype(), [&]<class T>(std::type_identity<T>) {
    const NormBackward<T> in{sizes,
                             eps,
                             address<T>(read(from.grad)),
                             address<T>(read(from.x)),
                             address<double>(read(from.mean)),
                             address<double>(read(from.var)),
                             address<T>(read(from.weight))};
    with_lanes(sizes.row_size(), sizes.rows(), [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(sizes.rows(), NormBackwardRows<T, lanes>{in, address<T>(to)});
    });
    affine_backward_with(launcher, in, grad_weight, grad_bias);
  });
}

}  // namespace troupe::cuda
