// Seeded values for tests of kernels.
#pragma once

#include <cstdint>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Returns values uniform in [low, high).
inline Tensor random_values(const Shape& shape, DType dtype, std::uint64_t seed, double low = -2.0, double high = 3.0) {
  Generator generator(seed);
  return uniform(shape, low, high, generator, dtype);
}

/// Returns whole numbers in [-2, 3): sums of their products are exact.
inline Tensor whole_values(const Shape& shape, DType dtype) {
  return floor(random_values(shape, DType::f64, static_cast<std::uint64_t>(shape.numel()))).to(dtype);
}

}  // namespace troupe::testing
