// Sorting of numbers on GPUs, with what belongs to them.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// Sorts `keys` (n), which are i64 and not negative or any u64 of `bits` bits, and `values` (n) of i64 with them; those
/// of equal keys keep their order. Both are contiguous, with memory of their own.
void sort_pairs(Tensor& keys, Tensor& values, int bits);

}  // namespace troupe::cuda
