// What teams of lanes share: joining what each has found.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

/// Joins what the lanes left in `values`, pairwise; all lanes see the result in values[0].
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
    return b > a ? b : a;  // NaN or not: the sum of the exponentials shows it
  }
};

/// f(std::integral_constant<int, lanes>{}) with as many lanes as lines of `size` need.
template <class F>
void with_lanes(std::int64_t size, const F& f) {
  if (size < 512) f(std::integral_constant<int, 32>{});
  else f(std::integral_constant<int, 256>{});
}

}  // namespace troupe::cuda
