// Kernel of GPUs that looks values up: what tensor/cpu/search.h says holds here, of tensors on one GPU.
#pragma once

#include "tensor/ops/histogram.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side);

}  // namespace troupe::cuda
