// Operations that reshape, join, slice and pad; rules as in ops.h. Any dtype.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

// Other shapes of the same elements; the views are those of Tensor.

[[nodiscard]] Tensor reshape(const Tensor& x, const Shape& shape);
[[nodiscard]] Tensor transpose(const Tensor& x, int dim0 = -2, int dim1 = -1);
[[nodiscard]] Tensor permute(const Tensor& x, std::span<const int> dims);
[[nodiscard]] inline Tensor permute(const Tensor& x, std::initializer_list<int> dims) { return x.permute(dims); }
[[nodiscard]] Tensor squeeze(const Tensor& x, int dim);
[[nodiscard]] Tensor squeeze(const Tensor& x);
[[nodiscard]] Tensor unsqueeze(const Tensor& x, int dim);
[[nodiscard]] Tensor expand(const Tensor& x, const Shape& shape);
/// Joins dimensions first_dim ... last_dim into one. A view if the layout permits it, else a copy.
[[nodiscard]] Tensor flatten(const Tensor& x, int first_dim = 0, int last_dim = -1);
/// Joins tensors along an existing dimension. All other sizes are equal; dtypes are promoted.
/// Throws ShapeError `[concat] shapes differ beside dimension 0: (2, 3) and (2, 4)`, `[concat] no tensors` or
/// `[concat] too many parts along dimension 0: 2 tensors, (4611686018427387904) and others`.
[[nodiscard]] Tensor concat(const std::vector<Tensor>& tensors, int dim = 0);
[[nodiscard]] Tensor concat(std::initializer_list<Tensor> tensors, int dim = 0);
/// Joins tensors of one shape along a new dimension. Throws ShapeError `[stack] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor stack(const std::vector<Tensor>& tensors, int dim = 0);
[[nodiscard]] Tensor stack(std::initializer_list<Tensor> tensors, int dim = 0);

// Parts

/// View of `length` parts along `dim` from `start` on; a negative start counts from the end.
/// Throws IndexError `[narrow] 3 from 2 on, of 4`.
[[nodiscard]] Tensor narrow(const Tensor& x, int dim, std::int64_t start, std::int64_t length);

/// Views of `size` parts along `dim` each; the last may have fewer. A dimension of size 0 gives one empty view.
/// Throws ValueError `[split] size below 1: 0`.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim = 0);
/// Consecutive views along `dim` with these sizes. Throws ShapeError
/// `[split_with_sizes] sizes (2, 3) for 4 parts`.
[[nodiscard]] std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<std::int64_t>& sizes,
                                                   int dim = 0);

/// At most `count` views of equal size along `dim`; the last may be smaller.
/// Throws ValueError `[chunk] count below 1: 0`.
[[nodiscard]] std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int dim = 0);

/// The elements in reverse order along `axes`.
[[nodiscard]] Tensor flip(const Tensor& x, const Axes& axes);
/// Shifts the elements by `shift` along `dim`; elements that leave at one end enter at the other.
[[nodiscard]] Tensor roll(const Tensor& x, std::int64_t shift, int dim);
/// Rolls along several dimensions, each by its shift. Throws ShapeError `[roll] 2 shifts for 1 dimensions`.
[[nodiscard]] Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const Axes& dims);
/// Rolls all elements in row-major order, as one line.
[[nodiscard]] Tensor roll(const Tensor& x, std::int64_t shift);
/// Repeats `x` as a whole `counts[i]` times along each dimension i. More counts than dimensions add leading dimensions.
/// Throws ShapeError `[repeat] 1 counts for (2, 3)`, `[repeat] too many elements: 4611686018427387904 times (2, 3)`,
/// ValueError `[repeat] count below 0: -1`.
[[nodiscard]] Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts);

/// Adds `value` around `x`. `amounts` are pairs (before, after): first for the last dimension, then for the one before
/// it, and so on, as torch.nn.functional.pad. A negative amount removes elements,
/// and where it exceeds the dimension also those that the other side adds: {-5, 7} makes 3 elements 5 new ones.
/// Throws ValueError `[pad] 3 amounts: two for each of the last dimensions, of 2`, ShapeError `[pad] size below 0: -1`,
/// `[pad] size outside of 64 bits: 3 with 9223372036854775807 before and 0 after`.
[[nodiscard]] Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, double value = 0.0);

/// Matrices (..., rows, columns) with zeros above (tril) or below (triu) the diagonal; `diagonal` 1 is the one above
/// the main one. Throws ShapeError `[tril] not a matrix: (3)`, ValueError
/// `[tril] diagonal outside of 64 bits: 9223372036854775807 of (2, 2)`.
[[nodiscard]] Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
[[nodiscard]] Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

}  // namespace troupe
