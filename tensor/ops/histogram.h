// Distinct values, counts, histograms and binary search; rules as in ops.h.
#pragma once

#include <cstdint>

#include "tensor/kernels/search.h"
#include "tensor/tensor.h"

namespace troupe {

/// The distinct elements of a tensor. `values` (n): ascending. `inverse`, i64, of the tensor's shape: the index of each
/// element in `values`. `counts` (n), i64: the number of elements equal to each value.
struct Unique {
  Tensor values;
  Tensor inverse;
  Tensor counts;
};

/// Returns the distinct elements of `x`. Each NaN is a distinct value; NaNs come last. Waits for a GPU.
[[nodiscard]] Unique unique(const Tensor& x);

/// Returns the number of occurrences of 0, 1, ... in the 1-D `x`, i64. REQUIRES: an integer dtype, no negative element.
/// With `weights`, sums the weights at each number instead, in the order of `x`, in f32 if they are f32, else in f64.
/// The length is the largest element plus 1, at least `minlength`.
/// Throws ValueError `[bincount] negative: -1`, `[bincount] minlength below 0: -1`,
/// ShapeError `[bincount] shapes differ: (2) and (3)`, DTypeError `[bincount] not integers: f32`.
[[nodiscard]] Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t minlength = 0);

/// Returns the number of elements of `x` in each of `bins` intervals of equal width from `low` to `high`, in the dtype
/// of `x`. REQUIRES: a floating dtype. The last interval includes `high`. Elements outside and NaN are not counted. If
/// low == high in the compute dtype, the range is from the least to the largest element, widened by 1 on each side if
/// these are equal, and the call waits for a GPU. Throws ValueError `[histc] bins below 1: 0`,
/// `[histc] low above high: 2 > 1`, `[histc] range is not finite: [0, inf]`.
[[nodiscard]] Tensor histc(const Tensor& x, std::int64_t bins = 100, double low = 0.0, double high = 0.0);

/// Returns for each element of `values` the index (i64) at which inserting it keeps `sorted` in order. NaN sorts last.
/// Shapes: sorted (n), ascending, with values of any shape; or sorted (..., n), each row ascending, with values (...,
/// m), row by row. Dtypes are promoted. Throws ShapeError `[searchsorted] rows differ: (2, 3) and (3, 1)`.
[[nodiscard]] Tensor searchsorted(const Tensor& sorted, const Tensor& values, Side side = Side::left);

/// Returns the bucket i of each element: boundaries[i - 1] < x <= boundaries[i], or with Side::right
/// boundaries[i - 1] <= x < boundaries[i]. Throws ShapeError `[bucketize] not 1 dimensions: (2, 3)`.
[[nodiscard]] Tensor bucketize(const Tensor& x, const Tensor& boundaries, Side side = Side::left);

}  // namespace troupe
