// Elements taken from and put to places that another tensor names; rules as in ops.h. `index` is i64 or i32, never
// negative. Throws IndexError `[index_select] index out of range: 7 of 5`.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// Picks parts of `x` along `dim` in the order of the 1-D `index`.
[[nodiscard]] Tensor index_select(const Tensor& x, int dim, const Tensor& index);
/// The gradient of index_select: a tensor of `shape`, 0 but for sums of the parts of `grad` that came from one place.
/// Summed in the order of `index`.
[[nodiscard]] Tensor index_select_backward(const Tensor& grad, int dim, const Tensor& index, const Shape& shape);
/// index of shape S -> S + (classes) with 1 at the index, 0 elsewhere. -1 classes: one more than the largest index.
/// Throws ValueError `[one_hot] no index to count classes by`.
[[nodiscard]] Tensor one_hot(const Tensor& index, std::int64_t classes = -1, DType dtype = DType::f32);

/// out[i][j] = x[index[i][j]][j] (for dim 0, in two dimensions): one element of `x` per element of `index`, which has as
/// many dimensions and, beside `dim`, no larger sizes.
/// Throws ShapeError `[gather] index does not fit: (3, 4) for (2, 3)`, IndexError `[gather] index out of range: 7 of 5`.
[[nodiscard]] Tensor gather(const Tensor& x, int dim, const Tensor& index);

/// A copy of `x` to which each element of `source` is added at the place that `index` names: the reverse of gather.
/// `source` has the dtype and dimensions of `x`, and no size below that of `index`. Summed in row-major order.
/// Throws as gather; ShapeError `[scatter_add] source does not fit: (2) for index (3)`.
[[nodiscard]] Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// A copy of `x` with each element of `source` at the place that `index` names. Of several for one place the last in row-major
/// order of `index` stays, on every device. Throws as scatter_add, but takes booleans.
[[nodiscard]] Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
/// The same with one value for all places. Throws DTypeError `[scatter] not a value of i64: 1.5`.
[[nodiscard]] Tensor scatter(const Tensor& x, int dim, const Tensor& index, double value);

/// x[index[i][j]][j] as gather, where `x` and `index` broadcast to each other beside `dim`.
/// Throws ShapeError `[take_along_dim] dimensions differ: (2, 3) and (3)`.
[[nodiscard]] Tensor take_along_dim(const Tensor& x, const Tensor& index, int dim);

/// A copy of `x` with `value` in the parts along `dim` that the 1-D `index` names.
[[nodiscard]] Tensor index_fill(const Tensor& x, int dim, const Tensor& index, double value);
/// A copy of `x` with part i of `source` along `dim` at place index[i]; of several for one place the last stays.
/// Throws ShapeError `[index_copy] source does not fit: (2, 4) for (2, 3)`.
[[nodiscard]] Tensor index_copy(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// A copy of `x` to which part i of `source` along `dim` is added at place index[i]: the reverse of index_select. Summed in
/// the order of `index`. Throws ShapeError `[index_add] source does not fit: (2, 4) for (2, 3)`.
[[nodiscard]] Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// Where `x` is not 0: i64 (count, dimensions of x), in row-major order. Waits for a GPU.
[[nodiscard]] Tensor nonzero(const Tensor& x);
/// The elements of `x` where `mask` (boolean) holds, in row-major order: (count). Both broadcast. Waits for a GPU.
/// Throws DTypeError `[masked_select] mask is not boolean: f32`.
[[nodiscard]] Tensor masked_select(const Tensor& x, const Tensor& mask);

/// `value` where `mask` (boolean, broadcast to x) holds, else `x`.
/// Throws ShapeError `[masked_fill] mask does not fit: (3) for (2, 2)`.
[[nodiscard]] Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

/// A copy of `x` with the first elements of `source`, in row-major order, where `mask` (boolean, broadcast to x) holds.
/// Waits for a GPU. Throws ValueError `[masked_scatter] 2 elements for 3 places`, ShapeError and DTypeError as masked_fill.
[[nodiscard]] Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

}  // namespace troupe
