// Kernels of GPUs that move elements to and from places given by index: what tensor/cpu/gather.h and indexing.h say holds
// here, of tensors on one GPU. The same bits as on the CPU.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

void gather(Tensor& out, const Tensor& x, int dim, const Tensor& index);
void scatter_add(Tensor& out, int dim, const Tensor& index, const Tensor& x);
void scatter(Tensor& out, int dim, const Tensor& index, const Tensor& x);
void take(Tensor& out, const Tensor& x, const Tensor& index);
void put_add(Tensor& out, const Tensor& x, const Tensor& index);
void pick(Tensor& out, const Tensor& x, const Tensor& index);
void place(Tensor& out, const Tensor& x, const Tensor& index);

/// Whether all elements of `index`, contiguous i64, are in [0, size). Waits for the GPU.
[[nodiscard]] bool all_inside(const Tensor& index, std::int64_t size);

}  // namespace troupe::cuda
