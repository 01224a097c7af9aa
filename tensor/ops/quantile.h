// What lies in the middle of elements in order, or anywhere else between the least and the largest; rules as in ops.h.
#pragma once

#include <vector>

#include "tensor/dims.h"
#include "tensor/ops/sort.h"
#include "tensor/tensor.h"

namespace troupe {

/// The middle element, of two the lower one; NaN if there is one. Throws ShapeError `[median] no elements: (0, 3)`.
[[nodiscard]] Tensor median(const Tensor& x);
/// Along `dim`, and where it is.
[[nodiscard]] Sorted median(const Tensor& x, int dim, KeepDim keep = KeepDim::no);

/// What a part `q` (0: the least, 1: the largest) of the elements in order is not above: the element at q * (count - 1),
/// between two elements in proportion (beside an infinity perhaps NaN, as torch's). NaN if there is one. Integers become f32;
/// f16, bf16: rounded once. Throws ValueError `[quantile] q outside [0, 1]: 1.5`, ShapeError `[quantile] no elements: (0, 3)`.
[[nodiscard]] Tensor quantile(const Tensor& x, double q);
[[nodiscard]] Tensor quantile(const Tensor& x, double q, int dim, KeepDim keep = KeepDim::no);
/// Several, in a new first dimension.
[[nodiscard]] Tensor quantile(const Tensor& x, const std::vector<double>& q, int dim, KeepDim keep = KeepDim::no);

}  // namespace troupe
