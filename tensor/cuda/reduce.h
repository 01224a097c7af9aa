// Kernels of GPUs that fold dimensions: what tensor/cpu/reduce.h says holds here, of tensors on one GPU, but for the order of
// floating sums, which follows from sizes and layout.
#pragma once

#include "tensor/cpu/reduce.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void reduce(cpu::ReduceOp op, Tensor& out, const Tensor& x, const cpu::AxisSet& axes);
void argument_last(cpu::Extreme extreme, Tensor& out, const Tensor& x);

}  // namespace troupe::cuda
