// Layer, group and instance normalisation on GPUs: what tensor/cpu/normalization.h says of group_norm holds here, of tensors on
// one GPU.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

void group_norm(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
void group_norm_backward(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                         const Tensor& mean, const Tensor& var, const Tensor& weight, double eps);

}  // namespace troupe::cuda
