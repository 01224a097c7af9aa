// Batch normalisation on GPUs: what tensor/cpu/normalization.h says of batch_norm holds here, of tensors on one GPU.
//
// Not cuDNN's, which keeps mean and 1 / std of a batch of f32 as f32: ours are f64, as on the CPU.
#pragma once

#include "tensor/cpu/normalization.h"

namespace troupe::cuda {

void batch_norm(cpu::Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
void batch_norm_backward(cpu::Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                         const Tensor& mean, const Tensor& var, const Tensor& weight, double eps);

}  // namespace troupe::cuda
