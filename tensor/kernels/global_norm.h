// Kernels that fold all elements of several tensors.
//
// REQUIRES: at least one tensor. On a GPU the order of sums depends only on sizes, and each call waits for the GPU
// once.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The kernels of a device for the norm over many tensors.
struct GlobalNormKernels {
  /// Returns the sum of |x|^p over all elements, in f64.
  double (*sum_of_powers)(std::span<const Tensor> xs, double p);

  /// Returns the largest |x|, or NaN if an element is NaN; 0 without elements.
  double (*largest_magnitude)(std::span<const Tensor> xs);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::GlobalNormKernels global_norm_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::GlobalNormKernels global_norm_kernels;
}  // namespace troupe::cuda
