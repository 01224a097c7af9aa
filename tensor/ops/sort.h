// Order along a dimension; rules as in ops.h. Any dtype; a NaN counts as the largest, equal elements keep their order.
#pragma once

#include <cstdint>

#include "tensor/kernels/order.h"
#include "tensor/tensor.h"

namespace troupe {

/// `values` and where each was (i64), of one shape.
struct Sorted {
  Tensor values;
  Tensor indices;
};

/// All elements along `dim`, in order.
[[nodiscard]] Sorted sort(const Tensor& x, int dim = -1, Order order = Order::ascending);

/// The indices alone.
[[nodiscard]] Tensor argsort(const Tensor& x, int dim = -1, Order order = Order::ascending);

/// The first `k` of them: by default the largest. Throws ValueError `[topk] 5 of 3`.
[[nodiscard]] Sorted topk(const Tensor& x, std::int64_t k, int dim = -1, Order order = Order::descending);

}  // namespace troupe
