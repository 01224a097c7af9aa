// Diagonals, dimensions moved and cut up, parts repeated, grids; rules as in ops.h. Any dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

// Diagonals

/// View of the elements whose place along `dim1` is the one along `dim0` plus `offset`, as the last dimension instead of
/// these two; of none if the offset leads out. Throws ShapeError `[diagonal] the dimensions are one: -1 and 1`.
[[nodiscard]] Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int dim0 = 0, int dim1 = 1);
/// Zeros around `x`, whose last dimension becomes the diagonal of the new dimensions `dim0` and `dim1` of the result.
/// Throws ShapeError `[diag_embed] a scalar has no diagonal`, `[diag_embed] the dimensions are one: -1 and 1`.
[[nodiscard]] Tensor diag_embed(const Tensor& x, std::int64_t offset = 0, int dim0 = -2, int dim1 = -1);
/// Of a vector the matrix with that diagonal, of a matrix a copy of its diagonal.
/// Throws ShapeError `[diag] neither a vector nor a matrix: (2, 3, 4)`.
[[nodiscard]] Tensor diag(const Tensor& x, std::int64_t offset = 0);
/// Sum of the diagonal of a matrix; integers to i64. Throws ShapeError `[trace] not 2 dimensions: (3)`.
[[nodiscard]] Tensor trace(const Tensor& x);

// Dimensions

/// Views of the parts along `dim`, without that dimension. Throws ShapeError as `select`.
[[nodiscard]] std::vector<Tensor> unbind(const Tensor& x, int dim = 0);
/// View with dimensions `from` at the places `to`; the others keep their order.
/// Throws ShapeError `[movedim] 2 dimensions to 1 places`, `[movedim] dimension given twice: 1`.
[[nodiscard]] Tensor movedim(const Tensor& x, const Axes& from, const Axes& to);
/// `x` with dimension `dim` cut up into dimensions of these sizes, of which one may be -1: the reverse of flatten. A view.
/// Throws ShapeError `[unflatten] 6 into (4, -1)`.
[[nodiscard]] Tensor unflatten(const Tensor& x, int dim, const Shape& sizes);
/// View of `x` broadcast to the shape of `other`. Throws as expand.
[[nodiscard]] Tensor expand_as(const Tensor& x, const Tensor& other);
/// What torch calls so too: expand.
[[nodiscard]] Tensor broadcast_to(const Tensor& x, const Shape& shape);

// Parts repeated and joined

/// As `repeat`, but fewer counts than dimensions are those of the last ones.
[[nodiscard]] Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);
/// Every part along `dim` `count` times in a row. Throws ValueError `[repeat_interleave] count below 0: -1`.
[[nodiscard]] Tensor repeat_interleave(const Tensor& x, std::int64_t count, int dim);
/// Part i along `dim` `counts[i]` times in a row; `counts` (i64 or i32) of one element holds for all. Waits for a GPU.
/// Throws ShapeError `[repeat_interleave] 2 counts for 3 parts`.
[[nodiscard]] Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int dim);
/// Joins tensors below each other, a vector being a row, or beside each other: along the second dimension, but vectors
/// along their only one. Throws as concat.
[[nodiscard]] Tensor vstack(const std::vector<Tensor>& tensors);
[[nodiscard]] Tensor hstack(const std::vector<Tensor>& tensors);

/// Which of the first two vectors of a grid runs along which dimension: the first along the first, or, as plots have
/// it, along the second.
enum class MeshOrder : std::uint8_t { ij, xy };

/// Views of vectors (or scalars) as coordinates of a grid: result k holds element i_k of vector k at (i_0, i_1, ...).
/// Throws ShapeError `[meshgrid] neither a vector nor a scalar: (2, 3)`.
[[nodiscard]] std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, MeshOrder order = MeshOrder::ij);

/// Differences of neighbours along `dim`, taken `n` times; of booleans, whether they differ.
/// Throws ValueError `[diff] n below 0: -1`.
[[nodiscard]] Tensor diff(const Tensor& x, std::int64_t n = 1, int dim = -1);

}  // namespace troupe
