// Medians and quantiles; rules as in ops.h.
#pragma once

#include <vector>

#include "tensor/dims.h"
#include "tensor/ops/sort.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns the middle element in sorted order, of two the lower one; NaN if `x` has one.
/// Throws ShapeError `[median] no elements: (0, 3)`.
[[nodiscard]] Tensor median(const Tensor& x);
/// Returns the medians along `dim` and their indices.
[[nodiscard]] Sorted median(const Tensor& x, int dim, KeepDim keep = KeepDim::no);

/// Returns the element at index q * (count - 1) in sorted order, interpolated linearly between two elements: q = 0 is
/// the least, q = 1 the largest. NaN if `x` has one; interpolation beside an infinity may also give NaN, as in torch.
/// Integers become f32; f16 and bf16 are rounded once.
/// Throws ValueError `[quantile] q outside [0, 1]: 1.5`, ShapeError `[quantile] no elements: (0, 3)`.
[[nodiscard]] Tensor quantile(const Tensor& x, double q);
[[nodiscard]] Tensor quantile(const Tensor& x, double q, int dim, KeepDim keep = KeepDim::no);
/// Returns several quantiles along a new first dimension.
[[nodiscard]] Tensor quantile(const Tensor& x, const std::vector<double>& q, int dim, KeepDim keep = KeepDim::no);

}  // namespace troupe
