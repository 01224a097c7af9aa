// Kernels of GPUs that sort: what tensor/cpu/order.h says holds here, of tensors on one GPU. The same places as on the CPU.
#pragma once

#include "tensor/ops/sort.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void order_last(Tensor& out, const Tensor& x, Order order);

/// Sorts `keys` (n), which are i64 and not negative or any u64 of `bits` bits, and `values` (n) of i64 with them; those of
/// equal keys keep their order. Both are contiguous, with memory of their own.
void sort_pairs(Tensor& keys, Tensor& values, int bits);

}  // namespace troupe::cuda
