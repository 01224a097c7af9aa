// Kernel that looks values up among sorted ones.
#pragma once

#include "tensor/ops/histogram.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// out (rows, n), i64 = the place of each element of `values` (rows, n) in the ascending `sorted` (rows, m). All contiguous;
/// `sorted` and `values` of one dtype that is computed in.
void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side);

}  // namespace troupe::cpu
