// Stable sorting along a dimension; rules as in ops.h. Any dtype; NaN counts as the largest.
#pragma once

#include <cstdint>

#include "tensor/kernels/order.h"
#include "tensor/tensor.h"

namespace troupe {

/// `values`, and `indices` (i64): the index of each value in the input. Both have the same shape.
struct Sorted {
  Tensor values;
  Tensor indices;
};

/// Sorts the elements along `dim`.
[[nodiscard]] Sorted sort(const Tensor& x, int dim = -1, Order order = Order::ascending);

/// Returns the indices that sort() gives.
[[nodiscard]] Tensor argsort(const Tensor& x, int dim = -1, Order order = Order::ascending);

/// Returns the first `k` elements in `order`; by default the largest. Throws ValueError `[topk] 5 of 3`.
[[nodiscard]] Sorted topk(const Tensor& x, std::int64_t k, int dim = -1, Order order = Order::descending);

}  // namespace troupe
