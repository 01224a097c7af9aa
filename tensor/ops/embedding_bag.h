// What embedding_bag and its gradient share, and autograd needs of them; and gradients of embeddings as rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/kernels/embedding_bag.h"
#include "tensor/ops/embedding.h"
#include "tensor/sparse.h"

namespace troupe::detail {

/// Bags whose arguments fit, with nothing but what forward and backward both need.
class EmbeddingBag {
 public:
  /// Throws as embedding_bag says.
  EmbeddingBag(const Tensor& weight, const Tensor& index, const Tensor& offsets, const EmbeddingBagOptions& options,
               const Tensor& per_sample_weights);

  struct Result {
    Tensor output;
    Tensor where_max;  ///< for the gradient of mode max
  };
  [[nodiscard]] Result forward(const Tensor& weight) const;

  /// The gradient by the weight: a table, or its rows, one for each entry of a bag in their order.
  [[nodiscard]] Tensor backward(const Tensor& grad, const Tensor& where_max) const;
  [[nodiscard]] SparseTensor backward_rows(const Tensor& grad, const Tensor& where_max) const;

  /// The gradient by the weights of samples, in their dtype.
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

/// `padding`, counted from the front, or -1 for none.
/// Throws IndexError `[op] padding index out of range: 5 of 5`.
[[nodiscard]] std::int64_t padding_row(std::string_view op, std::optional<std::int64_t> padding, std::int64_t rows);

/// The gradient of embedding as rows, one for each index in their order, without those at `padding`. May share the memory
/// of `grad` and `index`.
[[nodiscard]] SparseTensor embedding_backward_rows(const Tensor& grad, const Tensor& index, std::int64_t rows,
                                                   std::int64_t padding);

}  // namespace troupe::detail
