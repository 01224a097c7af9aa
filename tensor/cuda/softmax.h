// Softmax kernels of GPUs: what tensor/cpu/softmax.h says holds here, of tensors on one GPU.
#pragma once

#include "tensor/cpu/softmax.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void softmax(cpu::SoftmaxKind kind, Tensor& out, const Tensor& x);
void softmax_backward(cpu::SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y);

}  // namespace troupe::cuda
