// The kernels of tensor/kernels/normalization.h for any launcher, see launcher.h.
//
// First sums over each channel (channel_sums.h), then a map of each element with the numbers of its channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tensor/cuda/channel_sums.h"
#include "tensor/cuda/norm_operands.h"
#include "tensor/cuda/packs.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/moments.h"
#include "tensor/kernels/normalization.h"

namespace troupe::cuda {

/// Computes the mean and variance of each channel.
template <class T>
struct JoinMoments {
  PartSums<Distances<T>> in;
  double* means;
  double* vars;

  TROUPE_HOST_DEVICE void operator()(std::int64_t channel) const {
    const kernels::MeanAndVar found(in.pairs.origin(channel), joined(in, channel), in.sizes.count());
    means[channel] = found.mean;
    vars[channel] = found.var;
  }
};

/// Computes the affine map of each channel.
template <class T>
struct ChannelAffine {
  kernels::Affine<T>* to;
  const double* means;
  const double* vars;
  const T* weight;
  const T* bias;
  double eps;

  TROUPE_HOST_DEVICE void operator()(std::int64_t c) const {
    const double scale = kernels::inverse_std(vars[c], eps) * static_cast<double>(weight[c]);
    to[c] = {static_cast<T>(means[c]), static_cast<T>(scale), bias[c]};
  }
};

/// Computes the gradients by weight and bias of a channel, and the map to its gradient by x: a Slope<T>, or a Scale<T>
/// for given moments, which do not depend on x.
template <class T, class Map>
struct JoinGradients {
  PartSums<GradientPairs<T>> in;
  Map* to;
  double* by_weight;
  double* by_bias;
  const double* vars;
  const T* weight;
  double eps;

  TROUPE_HOST_DEVICE void operator()(std::int64_t c) const {
    const kernels::PairSums sums = joined(in, c);
    const double inverse = kernels::inverse_std(vars[c], eps);
    by_weight[c] = sums.product * inverse;
    by_bias[c] = sums.first;
    const auto factor = static_cast<double>(weight[c]);
    const kernels::PairSums weighted{sums.first * factor, sums.product * factor};
    to[c] = Map(kernels::slope_of<T>(in.pairs.means[c], inverse, weighted, in.sizes.count(), factor));
  }
};

template <class T>
struct NormaliseBody {
  Strided<2> walk;  ///< elements, channels
  T* out;
  const T* x;
  const kernels::Affine<T>* affine;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return affine[at[1]](x[at[0]]);
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { out[walk.offsets(i)[0]] = value; }
};

template <class T, class Map>
struct GradientBody {
  Strided<2> walk;  ///< elements, channels
  T* out;
  const T* grad;
  const T* x;
  const Map* maps;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return maps[at[1]](grad[at[0]], x[at[0]]);
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { out[walk.offsets(i)[0]] = value; }
};

template <class T>
struct PackedNormaliseBody {
  Strided<2> walk;  ///< packs, channels
  Pack<T>* out;
  const Pack<T>* x;
  const kernels::Affine<T>* affine;

  TROUPE_HOST_DEVICE Pack<T> value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    const kernels::Affine<T> map = affine[at[1]];
    Pack<T> pack = x[at[0]];
    for (T& one : pack.values) one = map(one);
    return pack;
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, const Pack<T>& pack) const { out[walk.offsets(i)[0]] = pack; }
};

template <class T, class Map>
struct PackedGradientBody {
  Strided<2> walk;  ///< packs, channels
  Pack<T>* out;
  const Pack<T>* grad;
  const Pack<T>* x;
  const Map* maps;

  TROUPE_HOST_DEVICE Pack<T> value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    const Map map = maps[at[1]];
    Pack<T> pack = grad[at[0]];
    const Pack<T> values = x[at[0]];
    for (std::uint32_t k = 0; k < kPackSize<T>; ++k) pack.values[k] = map(pack.values[k], values.values[k]);
    return pack;
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, const Pack<T>& pack) const { out[walk.offsets(i)[0]] = pack; }
};

/// Returns the packs of a walk over elements and their channels; nullopt if a pack would have several channels, or
/// `operands`, which all have the elements' layout, have no packs.
template <class T>
std::optional<Strided<2>> packs_of_channels(const Strided<2>& walk, std::initializer_list<const T*> operands) {
  if constexpr (kHasPacks<T>) {
    const bool aligned = std::ranges::all_of(
        operands, [](const T* x) { return reinterpret_cast<std::uintptr_t>(x) % sizeof(Pack<T>) == 0; });
    const bool one_channel = walk.strides[static_cast<std::size_t>(walk.rank) - 1][1] == 0;
    if (!aligned || !one_channel) return std::nullopt;
    const Place elements{reinterpret_cast<std::byte*>(const_cast<T*>(*operands.begin())), dtype_of<T>};
    const auto packs = packs_of<T, 2>(walk, {elements, Place{nullptr, dtype_of<T>}});
    if (packs && packs->rest.numel == 0) return packs->walk;
  }
  return std::nullopt;
}

/// Returns memory for `count` elements of T, aligned to 256 bytes on a GPU.
template <class T>
Tensor room_for(std::int64_t count, Device device) {
  static_assert(sizeof(T) % sizeof(float) == 0);
  return Tensor::empty({count * static_cast<std::int64_t>(sizeof(T) / sizeof(float))}, DType::f32, device);
}

/// Calls f(walk, first element, first channel) for small parts that cover x (outer, channels, inner).
template <class F>
void for_each_of_channels(const Tensor& x, const F& f) {
  const Strides channels{0, 1, 0};
  for_each_small(kernels::make_walk<2>(x.shape(), {&x.strides(), &channels}),
                 [&](const Strided<2>& walk, const auto& at) { f(walk, at[0], at[1]); });
}

template <class Launcher>
void batch_norm_with(const Launcher& launcher, kernels::Moments moments, Tensor& out, Tensor& mean, Tensor& var,
                     const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Place to = written(out);
  double* const means = address<double>(written(mean));
  double* const vars = address<double>(written(var));
  const std::int64_t channels = x.size(1);
  dispatch_floating("batch_norm", x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const from = address<T>(read(x));
    if (moments == kernels::Moments::computed) {
      Tensor room;
      const auto sums = sum_channels(launcher, x, Distances<T>{from, x.size(2)}, room);
      launcher.each(channels, JoinMoments<T>{sums, means, vars});
    }
    Tensor maps = room_for<kernels::Affine<T>>(channels, x.device());
    auto* const affine = address<kernels::Affine<T>>(written(maps));
    launcher.each(channels,
                  ChannelAffine<T>{affine, means, vars, address<T>(read(weight)), address<T>(read(bias)), eps});
    for_each_of_channels(x, [&](const Strided<2>& walk, std::int64_t first, std::int64_t channel) {
      T* const out_part = address<T>(to) + first;
      const T* const x_part = from + first;
      if (const auto packs = packs_of_channels<T>(walk, {out_part, x_part})) {
        launcher.map(packs->numel, PackedNormaliseBody<T>{*packs, reinterpret_cast<Pack<T>*>(out_part),
                                                          reinterpret_cast<const Pack<T>*>(x_part), affine + channel});
      } else {
        launcher.map(walk.numel, NormaliseBody<T>{walk, out_part, x_part, affine + channel});
      }
    });
  });
}

/// The gradients for elements of type T and maps of type Map.
template <class T, class Map, class Launcher>
void batch_norm_gradients(const Launcher& launcher, const Place& to, double* by_weight, double* by_bias,
                          const NormBackwardOperands& in, double eps) {
  const std::int64_t channels = in.x.size(1);
  const T* const grad = address<T>(read(in.grad));
  const T* const x = address<T>(read(in.x));
  Tensor room;
  const auto sums = sum_channels(launcher, in.x, GradientPairs<T>{grad, x, address<double>(read(in.mean))}, room);
  Tensor room_of_maps = room_for<Map>(channels, in.x.device());
  auto* const maps = address<Map>(written(room_of_maps));
  launcher.each(channels, JoinGradients<T, Map>{sums, maps, by_weight, by_bias, address<double>(read(in.var)),
                                                address<T>(read(in.weight)), eps});
  for_each_of_channels(in.x, [&](const Strided<2>& walk, std::int64_t first, std::int64_t channel) {
    T* const out_part = address<T>(to) + first;
    if (const auto packs = packs_of_channels<T>(walk, {out_part, grad + first, x + first})) {
      launcher.map(packs->numel,
                   PackedGradientBody<T, Map>{*packs, reinterpret_cast<Pack<T>*>(out_part),
                                              reinterpret_cast<const Pack<T>*>(grad + first),
                                              reinterpret_cast<const Pack<T>*>(x + first), maps + channel});
    } else {
      launcher.map(walk.numel, GradientBody<T, Map>{walk, out_part, grad + first, x + first, maps + channel});
    }
  });
}

template <class Launcher>
void batch_norm_backward_with(const Launcher& launcher, kernels::Moments moments, Tensor& grad_x, Tensor& grad_weight,
                              Tensor& grad_bias, const NormBackwardOperands& in, double eps) {
  const Place to = written(grad_x);
  double* const by_weight = address<double>(written(grad_weight));
  double* const by_bias = address<double>(written(grad_bias));
  dispatch_floating("batch_norm_backward", in.x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (moments == kernels::Moments::given) {
      batch_norm_gradients<T, kernels::Scale<T>>(launcher, to, by_weight, by_bias, in, eps);
    } else {
      batch_norm_gradients<T, kernels::Slope<T>>(launcher, to, by_weight, by_bias, in, eps);
    }
  });
}

}  // namespace troupe::cuda
