// Sparse tensors in coordinate format (COO), for example gradients of embeddings.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace troupe {

/// `count()` stored parts and the place of each. Elements at other places are 0; parts at the same place add up.
/// Immutable. Threads: as for Tensor.
class SparseTensor {
 public:
  SparseTensor() = default;

  /// `indices`: (d, n), i64; a column is the place of one part along the first d dimensions of `shape`.
  /// `values`: (n, remaining dimensions of `shape`); the parts.
  /// Throws ShapeError, DTypeError or IndexError if these do not fit together, DeviceError
  /// `[SparseTensor] devices differ: cpu and cuda:0` if they are on two.
  SparseTensor(Tensor indices, Tensor values, const Shape& shape);

  /// Returns the parts of `x` that have an element other than 0. Places, along the first `dims` dimensions, ascend.
  /// Throws ShapeError unless 1 <= dims <= x.dim().
  [[nodiscard]] static SparseTensor from_dense(const Tensor& x, int dims);

  [[nodiscard]] bool defined() const noexcept { return indices_.defined(); }
  [[nodiscard]] const Tensor& indices() const noexcept { return indices_; }
  [[nodiscard]] const Tensor& values() const noexcept { return values_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return values_.dtype(); }
  /// Returns the number of dimensions that a place has.
  [[nodiscard]] int sparse_dim() const { return static_cast<int>(indices_.size(0)); }
  [[nodiscard]] std::int64_t count() const { return indices_.size(1); }

  /// Returns whether `coalesce`, `as_coalesced` or `from_dense` made it: places ascend in row-major order, none twice.
  [[nodiscard]] bool is_coalesced() const noexcept { return coalesced_; }

  /// Sorts the parts by place and adds up parts at the same place, in the order stored, with any number of threads.
  /// Shares the memory of this tensor if its places ascend already. Throws DTypeError
  /// `[coalesce] not defined for boolean`.
  [[nodiscard]] SparseTensor coalesce() const;

  [[nodiscard]] Tensor to_dense() const;

  /// Returns this tensor marked as coalesced, without a copy.
  /// Throws ValueError `[coalesced] places are not ascending` if they do not ascend.
  [[nodiscard]] SparseTensor as_coalesced() const;

 private:
  [[nodiscard]] Tensor places() const;

  Tensor indices_;
  Tensor values_;
  Shape shape_;
  bool coalesced_ = false;
};

/// Returns the sum of tensors of one shape and dtype: their parts concatenated, not coalesced.
/// Throws ValueError `[add] no tensors`, ShapeError `[add] shapes differ: (2, 3) and (2, 4)`, DTypeError
/// `[add] dtypes differ: f32 and f64`.
[[nodiscard]] SparseTensor add(std::span<const SparseTensor> parts);

}  // namespace troupe
