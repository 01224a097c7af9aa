// Kernels that fold all elements of several tensors.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace troupe::cpu {

/// Returns the sum of |x|^p over all elements, in f64.
[[nodiscard]] double sum_of_powers(std::span<const Tensor> xs, double p);

/// Returns the largest |x|, or NaN if there is one; 0 without elements.
[[nodiscard]] double largest_magnitude(std::span<const Tensor> xs);

}  // namespace troupe::cpu
