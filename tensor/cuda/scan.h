// Kernels of GPUs for running results: what tensor/cpu/scan.h says holds here, of tensors on one GPU.
#pragma once

#include "tensor/cpu/scan.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void cumsum(Tensor& out, const Tensor& x, cpu::Direction direction);
void cumprod(Tensor& out, const Tensor& x);
void cumulative_argument(cpu::Extreme extreme, Tensor& out, const Tensor& x);

}  // namespace troupe::cuda
