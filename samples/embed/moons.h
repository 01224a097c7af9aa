// Data for a small classifier: points on two half-moons, each reaching into the other, which no straight line
// separates.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace samples {

struct Moons {
  troupe::Tensor points;  ///< (n, 2) f32
  troupe::Tensor upper;   ///< (n) i64: 1 for a point of the upper moon, 0 for one of the lower
};

/// Returns `count` points, every other one of the upper moon, scattered about it. Equal seeds give equal points.
[[nodiscard]] Moons draw_moons(std::int64_t count, std::uint64_t seed);

}  // namespace samples
