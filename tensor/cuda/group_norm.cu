#include "tensor/kernels/normalization.h"

#include "tensor/cuda/group_norm_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

void group_norm(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double eps) {
  group_norm_with(Launcher(out.device()), out, mean, var, x, weight, bias, eps);
}

void group_norm_backward(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                         const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  group_norm_backward_with(Launcher(x.device()), grad_x, grad_weight, grad_bias, {grad, x, mean, var, weight}, eps);
}

}  // namespace

const kernels::GroupNormKernels group_norm_kernels{.group_norm = group_norm,
                                                   .group_norm_backward = group_norm_backward};

}  // namespace troupe::cuda
