// What the backward passes of batch_norm_kernels.h and group_norm_kernels.h read.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// All f32 or f64, but mean and var, which are f64.
struct NormBackwardOperands {
  const Tensor& grad;
  const Tensor& x;
  const Tensor& mean;
  const Tensor& var;
  const Tensor& weight;
};

}  // namespace troupe::cuda
