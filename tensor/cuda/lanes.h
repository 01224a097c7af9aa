// Joins the results of a team's lanes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

/// Joins the lanes' elements of `values` pairwise. All lanes see the result in values[0].
template <class Team, class T, class Join>
TROUPE_HOST_DEVICE void join_lanes(const Team& team, T* values, const Join& join) {
  for (int width = Team::kLanes / 2; width > 0; width /= 2) {
    team.each([&](int lane) {
      if (lane < width) values[lane] = join(values[lane], values[lane + width]);
    });
  }
}

/// The same for two arrays at once, which takes as many barriers as one.
template <class Team, class T, class Join>
TROUPE_HOST_DEVICE void join_lanes(const Team& team, T* values, T* others, const Join& join) {
  for (int width = Team::kLanes / 2; width > 0; width /= 2) {
    team.each([&](int lane) {
      if (lane >= width) return;
      values[lane] = join(values[lane], values[lane + width]);
      others[lane] = join(others[lane], others[lane + width]);
    });
  }
}

struct Larger {
  template <class T>
  TROUPE_HOST_DEVICE T operator()(T a, T b) const {
    return b > a ? b : a;  // skips NaN, which the exponentials propagate
  }
};

/// Calls f(std::integral_constant<int, lanes>{}) with the number of lanes for lines of `size` elements.
template <class F>
void with_lanes(std::int64_t size, const F& f) {
  if (size < 512) f(std::integral_constant<int, 32>{});
  else f(std::integral_constant<int, 256>{});
}
/// The same for `lines` lines: many give every multiprocessor work with few lanes each, which join sooner.
template <class F>
void with_lanes(std::int64_t size, std::int64_t lines, const F& f) {
  with_lanes(lines >= 2048 && size < 4096 ? 0 : size, f);
}

}  // namespace troupe::cuda
