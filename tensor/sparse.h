// Tensors of which only some parts are stored, by their place (COO): what gradients of embeddings look like.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace troupe {

/// A handle of `count()` parts and their places. What is not stored is 0; parts at one place add up.
/// Immutable; threads as for Tensor.
class SparseTensor {
 public:
  SparseTensor() = default;

  /// `indices`, (d, n) of i64: a column is the place of one part along the first d dimensions of `shape`.
  /// `values`, (n, the other dimensions of `shape`): the parts.
  /// Throws ShapeError, DTypeError or IndexError, naming what does not fit.
  SparseTensor(Tensor indices, Tensor values, const Shape& shape);

  /// The elements of `x` that are not 0, by their place along the first `dims` dimensions, ascending.
  /// Throws ShapeError unless 1 <= dims <= x.dim().
  [[nodiscard]] static SparseTensor from_dense(const Tensor& x, int dims);

  [[nodiscard]] bool defined() const noexcept { return indices_.defined(); }
  [[nodiscard]] const Tensor& indices() const noexcept { return indices_; }
  [[nodiscard]] const Tensor& values() const noexcept { return values_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return values_.dtype(); }
  /// Dimensions along which parts have places.
  [[nodiscard]] int sparse_dim() const { return static_cast<int>(indices_.size(0)); }
  [[nodiscard]] std::int64_t count() const { return indices_.size(1); }

  /// Whether it came from `coalesce` or `from_dense`: places ascend in row-major order, none twice.
  [[nodiscard]] bool is_coalesced() const noexcept { return coalesced_; }

  /// Sorts by place and adds up what is at one place, in the order it is stored, whatever the threads. What ascends
  /// already is not copied. Throws DTypeError `[coalesce] not defined for boolean`.
  [[nodiscard]] SparseTensor coalesce() const;

  [[nodiscard]] Tensor to_dense() const;

  /// The same, marked as coalesced. Throws ValueError `[coalesced] places are not ascending` if it is not.
  [[nodiscard]] SparseTensor as_coalesced() const;

 private:
  [[nodiscard]] Tensor places() const;

  Tensor indices_;
  Tensor values_;
  Shape shape_;
  bool coalesced_ = false;
};

/// The sum of tensors of one shape and dtype: all their parts one after another, not coalesced.
/// Throws ValueError `[add] no tensors`, ShapeError `[add] shapes differ: (2, 3) and (2, 4)`, DTypeError
/// `[add] dtypes differ: f32 and f64`.
[[nodiscard]] SparseTensor add(std::span<const SparseTensor> parts);

}  // namespace troupe
