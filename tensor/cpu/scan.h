// Kernels of running results.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::cpu {

enum class Direction : std::uint8_t { forward, backward };

/// out (outer, size, inner) = the sums of `x` (outer, size, inner) along the middle, from its beginning or its end on. Both
/// contiguous, of one dtype: i64 (wraps around), f32 or f64 (sums run in f64).
void cumsum(Tensor& out, const Tensor& x, Direction direction);

}  // namespace troupe::cpu
