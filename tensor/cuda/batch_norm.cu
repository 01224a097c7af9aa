#include "tensor/kernels/normalization.h"

#include "tensor/cuda/batch_norm_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

void batch_norm(kernels::Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double eps) {
  batch_norm_with(Launcher(out.device()), moments, out, mean, var, x, weight, bias, eps);
}

void batch_norm_backward(kernels::Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias,
                         const Tensor& grad, const Tensor& x, const Tensor& mean, const Tensor& var,
                         const Tensor& weight, double eps) {
  batch_norm_backward_with(Launcher(x.device()), moments, grad_x, grad_weight, grad_bias, {grad, x, mean, var, weight},
                           eps);
}

}  // namespace

const kernels::BatchNormKernels batch_norm_kernels{.batch_norm = batch_norm,
                                                   .batch_norm_backward = batch_norm_backward};

}  // namespace troupe::cuda
