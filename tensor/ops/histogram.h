// Which values there are, how many of each, and where a value belongs; rules as in ops.h.
#pragma once

#include <cstdint>

#include "tensor/kernels/search.h"
#include "tensor/tensor.h"

namespace troupe {

/// The distinct elements of a tensor: `values` (n), ascending; `inverse`, i64 of the tensor's shape, where in `values` each
/// element is; `counts` (n), i64, how many there are of each.
struct Unique {
  Tensor values;
  Tensor inverse;
  Tensor counts;
};

/// NaNs come last and are equal to nothing: each is a value of its own. Waits for a GPU.
[[nodiscard]] Unique unique(const Tensor& x);

/// How often each of 0, 1, ... is in the 1-D `x`, of an integer dtype, none negative: i64, or with `weights` the sums of
/// these (f32 as they are, others in f64), in the order of `x`. As many as the largest has need of, and at least
/// `minlength`. Throws ValueError `[bincount] negative: -1`, `[bincount] minlength below 0: -1`, ShapeError
/// `[bincount] shapes differ: (2) and (3)`, DTypeError `[bincount] not integers: f32`.
[[nodiscard]] Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t minlength = 0);

/// How many elements of `x` are in each of `bins` parts of equal width from `low` to `high`, the last with its upper end, in
/// the dtype of `x`, a floating one. What is outside, and NaN, is not counted. If both ends are equal they are the least
/// and the largest element, or, should these be equal, 1 below and 1 above. Waits for a GPU then.
/// Throws ValueError `[histc] bins below 1: 0`, `[histc] low above high: 2 > 1`, `[histc] range is not finite: [0, inf]`.
[[nodiscard]] Tensor histc(const Tensor& x, std::int64_t bins = 100, double low = 0.0, double high = 0.0);

/// For each element of `values` the place (i64) where it would keep `sorted` in order. NaN belongs behind all numbers.
/// Shapes: sorted (n), ascending, values of any; or sorted (..., n), each row ascending, values (..., m) by row. Dtypes are
/// promoted. Throws ShapeError `[searchsorted] rows differ: (2, 3) and (3, 1)`.
[[nodiscard]] Tensor searchsorted(const Tensor& sorted, const Tensor& values, Side side = Side::left);

/// The same for boundaries between buckets: element x belongs to bucket i with boundaries[i - 1] < x <= boundaries[i], on the
/// right side with boundaries[i - 1] <= x < boundaries[i]. Throws ShapeError `[bucketize] not 1 dimensions: (2, 3)`.
[[nodiscard]] Tensor bucketize(const Tensor& x, const Tensor& boundaries, Side side = Side::left);

}  // namespace troupe
