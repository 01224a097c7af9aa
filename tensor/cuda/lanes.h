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

}  // namespace troupe::cuda
