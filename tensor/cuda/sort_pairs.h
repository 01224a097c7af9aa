// Sorts keys on GPUs, together with their values.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// Sorts `keys` (n) by their lowest `bits` bits as unsigned integers, and `values` (n), i64, with them; equal keys keep
/// their order. REQUIRES: keys are i64 and not negative, or u64 bits; both tensors are contiguous and share no memory.
void sort_pairs(Tensor& keys, Tensor& values, int bits);

}  // namespace troupe::cuda
