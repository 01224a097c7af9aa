// Forward and backward of embedding_bag, for ops/embedding.h and autograd/; sparse gradients of embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/kernels/embedding_bag.h"
#include "tensor/ops/embedding.h"
#include "tensor/sparse.h"

namespace troupe::detail {

/// Bags with checked arguments. Holds only the values that forward and backward both need.
class EmbeddingBag {
 public:
  /// Throws as embedding_bag.
  EmbeddingBag(const Tensor& weight, const Tensor& index, const Tensor& offsets, const EmbeddingBagOptions& options,
               const Tensor& per_sample_weights);

  struct Result {
    Tensor output;
    Tensor where_max;  ///< saved for backward of mode max
  };
  [[nodiscard]] Result forward(const Tensor& weight) const;

  /// The gradient of the weight: dense (`backward`), or sparse with one row per entry of a bag, in order.
  [[nodiscard]] Tensor backward(const Tensor& grad, const Tensor& where_max) const;
  [[nodiscard]] SparseTensor backward_rows(const Tensor& grad, const Tensor& where_max) const;

  /// The gradient of per_sample_weights, in their dtype.
  [[nodiscard]] Tensor backward_samples(const Tensor& grad, const Tensor& weight) const;

 private:
  void set_scales(const Tensor& per_sample_weights);

  kernels::Bags bags_;
  Shape weight_shape_;
  Shape index_shape_;
  DType dtype_;
  DType samples_dtype_ = DType::f32;
  BagMode mode_;
};

/// Returns `padding` counted from the front; -1 if there is none.
/// Throws IndexError `[op] padding index out of range: 5 of 5`.
[[nodiscard]] std::int64_t padding_row(std::string_view op, std::optional<std::int64_t> padding, std::int64_t rows);

/// The sparse gradient of the weight of embedding: one row per index, in order, without the indices equal to `padding`.
/// May share the memory of `grad` and `index`.
[[nodiscard]] SparseTensor embedding_backward_rows(const Tensor& grad, const Tensor& index, std::int64_t rows,
                                                   std::int64_t padding);

}  // namespace troupe::detail
