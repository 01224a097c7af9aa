// The size of tensors taken together, on GPUs: what tensor/cpu/global_norm.h says holds here, but for the order of sums, which
// follows from sizes. Both wait for the GPU, once.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace troupe::cuda {

[[nodiscard]] double sum_of_powers(std::span<const Tensor> xs, double p);
[[nodiscard]] double largest_magnitude(std::span<const Tensor> xs);

}  // namespace troupe::cuda
