// Kernels that sort. Rows are the last dimension of `x`, of any layout; a NaN counts as the largest, equal elements keep
// their order.
#pragma once

#include <cstdint>

#include "tensor/ops/sort.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// `out` (..., k) = the places of the first k elements of each row of `x` (..., n) in `order`. `out` is contiguous i64,
/// the dtype of `x` one that operations are computed in (compute_dtype).
void order_last(Tensor& out, const Tensor& x, Order order);

}  // namespace troupe::cpu
