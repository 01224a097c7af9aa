// Lookup of rows in a table that is a variable. Shapes, dtypes and errors are those of tensor/ops/embedding.h.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/variable.h"
#include "tensor/ops/embedding.h"

namespace troupe {

/// Options for the gradient of an embedding.
struct EmbeddingOptions {
  /// The row that gets no gradient; a negative index counts from the end.
  std::optional<std::int64_t> padding_idx{};
  /// Whether the gradient by the weight is rows (Gradients::sparse_of) instead of a table. It stays rows if the weight
  /// is a leaf without other uses.
  bool sparse = false;
};

/// Throws IndexError `[embedding] padding index out of range: 5 of 5`.
[[nodiscard]] Variable embedding(const Variable& weight, const Tensor& index, const EmbeddingOptions& options = {});

/// With mode max, the first of equal largest elements gets the gradient. `per_sample_weights` may be undefined.
[[nodiscard]] Variable embedding_bag(const Variable& weight, const Tensor& index, const Tensor& offsets = {},
                                     const EmbeddingBagOptions& options = {}, const Variable& per_sample_weights = {});

}  // namespace troupe
