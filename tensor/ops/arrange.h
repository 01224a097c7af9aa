// Diagonals, moved and split dimensions, repetition, stacking and grids; rules as in ops.h. Any dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

// Diagonals

/// View of the diagonal: the elements whose index along `dim1` is the index along `dim0` plus `offset`. The diagonal
/// replaces both dimensions and is the last dimension of the result; it is empty if `offset` is outside `x`.
/// Throws ShapeError `[diagonal] the dimensions are one: -1 and 1`.
[[nodiscard]] Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int dim0 = 0, int dim1 = 1);
/// The reverse of diagonal: the last dimension of `x` becomes the diagonal of two new dimensions `dim0` and `dim1` of
/// the result; the other elements are 0.
/// Throws ShapeError `[diag_embed] a scalar has no diagonal`, `[diag_embed] the dimensions are one: -1 and 1`.
[[nodiscard]] Tensor diag_embed(const Tensor& x, std::int64_t offset = 0, int dim0 = -2, int dim1 = -1);
/// Returns for a vector the matrix with that diagonal, for a matrix a copy of its diagonal.
/// Throws ShapeError `[diag] neither a vector nor a matrix: (2, 3, 4)`.
[[nodiscard]] Tensor diag(const Tensor& x, std::int64_t offset = 0);
/// Sum of the diagonal of a matrix; integers sum to i64. Throws ShapeError `[trace] not 2 dimensions: (3)`.
[[nodiscard]] Tensor trace(const Tensor& x);

// Dimensions

/// Views of the parts along `dim`, without that dimension. Throws ShapeError as `select`.
[[nodiscard]] std::vector<Tensor> unbind(const Tensor& x, int dim = 0);
/// View with the dimensions `from` moved to the positions `to`; the other dimensions keep their order.
/// Throws ShapeError `[movedim] 2 dimensions to 1 places`, `[movedim] dimension given twice: 1`.
[[nodiscard]] Tensor movedim(const Tensor& x, const Axes& from, const Axes& to);
/// View of `x` with dimension `dim` split into dimensions of these sizes, one of which may be -1: the reverse of
/// flatten. Throws ShapeError `[unflatten] 6 into (4, -1)`.
[[nodiscard]] Tensor unflatten(const Tensor& x, int dim, const Shape& sizes);
/// View of `x` broadcast to the shape of `other`. Throws as expand.
[[nodiscard]] Tensor expand_as(const Tensor& x, const Tensor& other);
/// The same as expand, under PyTorch's name.
[[nodiscard]] Tensor broadcast_to(const Tensor& x, const Shape& shape);

// Parts repeated and joined

/// As `repeat`; fewer counts than dimensions apply to the last dimensions.
[[nodiscard]] Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);
/// Repeats every part along `dim` `count` times in a row. Throws ValueError `[repeat_interleave] count below 0: -1`.
[[nodiscard]] Tensor repeat_interleave(const Tensor& x, std::int64_t count, int dim);
/// Repeats part i along `dim` `counts[i]` times in a row; one element in `counts` (i64 or i32) applies to all parts.
/// Waits for a GPU. Throws ShapeError `[repeat_interleave] 2 counts for 3 parts`.
[[nodiscard]] Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int dim);
/// Joins tensors along the first dimension (vstack; a vector is a row) or the second (hstack; vectors along their only
/// one). Throws as concat.
[[nodiscard]] Tensor vstack(const std::vector<Tensor>& tensors);
[[nodiscard]] Tensor hstack(const std::vector<Tensor>& tensors);

/// The dimensions of a grid along which its first two vectors run: ij 0 and 1, xy 1 and 0, as in plots.
enum class MeshOrder : std::uint8_t { ij, xy };

/// Views of vectors (or scalars) as coordinates of a grid: result k has element i_k of vector k at (i_0, i_1, ...).
/// Throws ShapeError `[meshgrid] neither a vector nor a scalar: (2, 3)`.
[[nodiscard]] std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, MeshOrder order = MeshOrder::ij);

/// Differences of neighbours along `dim`, taken `n` times. For booleans: whether the neighbours differ.
/// Throws ValueError `[diff] n below 0: -1`.
[[nodiscard]] Tensor diff(const Tensor& x, std::int64_t n = 1, int dim = -1);

}  // namespace troupe
