// Cumulative sums, products and extremes along a dimension; rules as in ops.h.
#pragma once

#include "tensor/ops/sort.h"
#include "tensor/tensor.h"

namespace troupe {

/// Element i is the sum of elements 0 ... i along `dim`. Integers and booleans sum to i64. Floating sums run in f64;
/// each result element is rounded once.
[[nodiscard]] Tensor cumsum(const Tensor& x, int dim);
/// The gradient of cumsum: element i is the sum of elements i, i + 1, ... of `grad`.
[[nodiscard]] Tensor cumsum_backward(const Tensor& grad, int dim);

/// Element i is the product of elements 0 ... i along `dim`; dtypes and rounding as cumsum.
[[nodiscard]] Tensor cumprod(const Tensor& x, int dim);

/// Element i is the largest (smallest) of elements 0 ... i along `dim` and its index: of equal elements the last one.
/// From the first NaN on the result is NaN.
[[nodiscard]] Sorted cummax(const Tensor& x, int dim);
[[nodiscard]] Sorted cummin(const Tensor& x, int dim);

}  // namespace troupe
