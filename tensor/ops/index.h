// Reading and writing elements at the places that an index tensor or a mask gives; rules as in ops.h. `index` is i64 or
// i32 and not negative. Throws IndexError `[index_select] index out of range: 7 of 5`.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// Returns the parts of `x` along `dim` at the 1-D `index`, in its order.
[[nodiscard]] Tensor index_select(const Tensor& x, int dim, const Tensor& index);
/// The gradient of index_select: zeros of `shape` plus part i of `grad` at index[i], added in the order of `index`.
[[nodiscard]] Tensor index_select_backward(const Tensor& grad, int dim, const Tensor& index, const Shape& shape);
/// Returns 1 at the index, 0 elsewhere. Shapes: index of shape S -> S + (classes). classes = -1: the largest index plus
/// 1. Throws ValueError `[one_hot] no index to count classes by`.
[[nodiscard]] Tensor one_hot(const Tensor& index, std::int64_t classes = -1, DType dtype = DType::f32);

/// out[i][j] = x[index[i][j]][j] (for dim 0, in two dimensions): one element of `x` per element of `index`. `index` has
/// as many dimensions as `x` and, except along `dim`, no larger sizes.
/// Throws ShapeError `[gather] index does not fit: (3, 4) for (2, 3)`, IndexError
/// `[gather] index out of range: 7 of 5`.
[[nodiscard]] Tensor gather(const Tensor& x, int dim, const Tensor& index);

/// Returns a copy of `x` with each element of `source` added at the place that `index` gives: the reverse of gather.
/// `source` has the dtype and number of dimensions of `x`, and no size below that of `index`. Adds in row-major order.
/// Throws as gather; ShapeError `[scatter_add] source does not fit: (2) for index (3)`.
[[nodiscard]] Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// Returns a copy of `x` with each element of `source` written to the place that `index` gives. Of several for one
/// place the last in row-major order of `index` wins, on every device. Throws as scatter_add, but accepts booleans.
[[nodiscard]] Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
/// As above with one value for all places. Throws DTypeError `[scatter] not a value of i64: 1.5`.
[[nodiscard]] Tensor scatter(const Tensor& x, int dim, const Tensor& index, double value);

/// As gather; `x` and `index` broadcast to each other except along `dim`.
/// Throws ShapeError `[take_along_dim] dimensions differ: (2, 3) and (3)`.
[[nodiscard]] Tensor take_along_dim(const Tensor& x, const Tensor& index, int dim);

/// Returns a copy of `x` with `value` in the parts along `dim` at the 1-D `index`.
[[nodiscard]] Tensor index_fill(const Tensor& x, int dim, const Tensor& index, double value);
/// Returns a copy of `x` with part i of `source` along `dim` written to index[i]; of several for one place the last
/// wins. Throws ShapeError `[index_copy] source does not fit: (2, 4) for (2, 3)`.
[[nodiscard]] Tensor index_copy(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// Returns a copy of `x` with part i of `source` along `dim` added at index[i], in the order of `index`: the reverse of
/// index_select. Throws ShapeError `[index_add] source does not fit: (2, 4) for (2, 3)`.
[[nodiscard]] Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// Returns the places of the elements other than 0: i64 (count, dimensions of x), in row-major order. Waits for a GPU.
[[nodiscard]] Tensor nonzero(const Tensor& x);
/// Returns the elements of `x` where `mask` (boolean) is true, in row-major order: (count). Both broadcast. Waits for a
/// GPU. Throws DTypeError `[masked_select] mask is not boolean: f32`.
[[nodiscard]] Tensor masked_select(const Tensor& x, const Tensor& mask);

/// Returns `value` where `mask` (boolean, broadcast to x) is true, else `x`.
/// Throws ShapeError `[masked_fill] mask does not fit: (3) for (2, 2)`.
[[nodiscard]] Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

/// Returns a copy of `x` with the next element of `source`, in row-major order, wherever `mask` (boolean, broadcast to
/// x) is true. Waits for a GPU. Throws ValueError `[masked_scatter] 2 elements for 3 places`, ShapeError and DTypeError
/// as masked_fill.
[[nodiscard]] Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

}  // namespace troupe
