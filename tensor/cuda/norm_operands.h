// The operands of the backward passes in batch_norm_kernels.h and group_norm_kernels.h.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// mean and var are f64; all others have one dtype, f32 or f64.
struct NormBackwardOperands {
  const Tensor& grad;
  const Tensor& x;
  const Tensor& mean;
  const Tensor& var;
  const Tensor& weight;
};

}  // namespace troupe::cuda
