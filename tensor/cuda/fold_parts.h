// Folds many elements to one number on the CPU, or to the results of at most 1024 parts. The part and lane of an
// element depend only on the number of elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

/// `count` elements split into parts of `chunk`.
struct PartSizes {
  std::int64_t count;
  std::int64_t chunk;
  std::int64_t parts;  ///< at least 1

  explicit PartSizes(std::int64_t count_in)
      : count(count_in),
        chunk(std::max(std::int64_t{1} << 12, (count_in + 1023) / 1024)),
        parts(std::max((count_in + chunk - 1) / chunk, std::int64_t{1})) {}
};

/// One team per part: totals[p] = the values value(i), f64, of part p, joined from 0 on.
template <class Value, class Join>
struct FoldPart {
  static constexpr int kLanes = 256;
  struct Shared {
    double totals[kLanes];
  };
  Value value;
  Join join;
  PartSizes sizes;
  double* totals;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t part) const {
    const std::int64_t begin = part * sizes.chunk;
    const std::int64_t end = sizes.count - begin < sizes.chunk ? sizes.count : begin + sizes.chunk;
    team.each([&](int lane) {
      double total = 0.0;
      for (std::int64_t i = begin + lane; i < end; i += kLanes) total = join(total, value(i));
      team.shared.totals[lane] = total;
    });
    join_lanes(team, team.shared.totals, join);
    team.each([&](int lane) {
      if (lane == 0) totals[part] = team.shared.totals[0];
    });
  }
};

/// Writes the totals of all parts to `totals`.
template <class Launcher, class Value, class Join>
void fold_parts(const Launcher& launcher, const PartSizes& sizes, double* totals, const Value& value,
                const Join& join) {
  using Body = FoldPart<Value, Join>;
  launcher.template teams<Body::kLanes>(sizes.parts, Body{value, join, sizes, totals});
}

/// Returns the elements of `totals`, contiguous f64, joined in order. Waits for the GPU.
template <class Join>
double joined_here(const Tensor& totals, const Join& join) {
  const Tensor here = totals.to(Device::cpu());
  double total = 0.0;
  for (const double part : here.data<double>()) total = join(total, part);
  return total;
}

/// Returns value(0), ..., value(count - 1) joined, from 0 on. Waits for the GPU.
template <class Launcher, class Value, class Join>
double folded_here(const Launcher& launcher, Device device, std::int64_t count, const Value& value, const Join& join) {
  const PartSizes sizes(count);
  Tensor totals = Tensor::empty({sizes.parts}, DType::f64, device);
  fold_parts(launcher, sizes, address<double>(written(totals)), value, join);
  return joined_here(totals, join);
}

}  // namespace troupe::cuda
