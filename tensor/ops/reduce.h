// Reductions; rules as in ops.h.
#pragma once

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// Sum of all elements, or along `axes`. Integers and booleans sum to i64; an empty sum is 0.
/// Throws ShapeError `[sum] dimension given twice: 1`.
[[nodiscard]] Tensor sum(const Tensor& x);
[[nodiscard]] Tensor sum(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Product of all elements, or along `axes`. Integers and booleans give i64; an empty product is 1.
[[nodiscard]] Tensor prod(const Tensor& x);
[[nodiscard]] Tensor prod(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Arithmetic mean. Integers become f32; an empty mean is NaN.
[[nodiscard]] Tensor mean(const Tensor& x);
[[nodiscard]] Tensor mean(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Largest (smallest) element; NaN if `x` has one. Throws ShapeError `[max] no elements: (0, 3)`.
[[nodiscard]] Tensor max(const Tensor& x);
[[nodiscard]] Tensor max(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Tensor min(const Tensor& x);
[[nodiscard]] Tensor min(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Index (i64) of the first largest (smallest) element along `dim`, or of the first NaN if `x` has one.
[[nodiscard]] Tensor argmax(const Tensor& x);
[[nodiscard]] Tensor argmin(const Tensor& x);
[[nodiscard]] Tensor argmax(const Tensor& x, int dim, KeepDim keep = KeepDim::no);
[[nodiscard]] Tensor argmin(const Tensor& x, int dim, KeepDim keep = KeepDim::no);
/// Whether any element (all elements) differ from 0; false (true) without elements. The result is boolean.
[[nodiscard]] Tensor any(const Tensor& x);
[[nodiscard]] Tensor any(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Tensor all(const Tensor& x);
[[nodiscard]] Tensor all(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Number of elements that are not 0, i64.
[[nodiscard]] Tensor count_nonzero(const Tensor& x);
[[nodiscard]] Tensor count_nonzero(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Variance: the sum of squared distances from the mean, divided by the number of elements less `correction`. 1 is the
/// unbiased estimate for a sample, 0 the variance of the elements. Integers become f32. A divisor below 0 counts as 0,
/// which gives NaN, or infinity if elements differ.
[[nodiscard]] Tensor var(const Tensor& x);
[[nodiscard]] Tensor var(const Tensor& x, const Axes& axes, double correction = 1, KeepDim keep = KeepDim::no);
/// Standard deviation. Not called std, which is a namespace.
[[nodiscard]] Tensor stddev(const Tensor& x);
[[nodiscard]] Tensor stddev(const Tensor& x, const Axes& axes, double correction = 1, KeepDim keep = KeepDim::no);
/// (sum |x|^p)^(1/p); the largest |x| for a `p` of infinity. Integers become f32.
/// Throws ValueError `[norm] p not above 0: 0`.
[[nodiscard]] Tensor norm(const Tensor& x, double p = 2);
[[nodiscard]] Tensor norm(const Tensor& x, double p, const Axes& axes, KeepDim keep = KeepDim::no);
/// log(sum(exp(x))) along `axes`, without overflow; -infinity without elements.
[[nodiscard]] Tensor logsumexp(const Tensor& x, const Axes& axes, KeepDim keep = KeepDim::no);
/// Sums `x` down to `shape`, the reverse of broadcasting `shape` to x.shape(). Returns `x` itself if equal.
/// Throws ShapeError `[sum_to] (4) does not broadcast to (2, 3)`.
[[nodiscard]] Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace troupe
