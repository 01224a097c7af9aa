// Rows of a table that is a variable, alone and in bags. Shapes, dtypes and errors are those of tensor/ops/embedding.h.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/variable.h"
#include "tensor/ops/embedding.h"

namespace troupe {

/// Which gradients an embedding has.
struct EmbeddingOptions {
  /// A row that gets no gradient; negative from the end.
  std::optional<std::int64_t> padding_idx{};
  /// Whether the gradient by the weight is rows (Gradients::sparse_of), not a table. It stays rows if the weight is a
  /// leaf that is used in no other way.
  bool sparse = false;
};

/// Throws IndexError `[embedding] padding index out of range: 5 of 5`.
[[nodiscard]] Variable embedding(const Variable& weight, const Tensor& index, const EmbeddingOptions& options = {});

/// Of equal largest elements the first gets the gradient. `per_sample_weights` may be undefined.
[[nodiscard]] Variable embedding_bag(const Variable& weight, const Tensor& index, const Tensor& offsets = {},
                                     const EmbeddingBagOptions& options = {}, const Variable& per_sample_weights = {});

}  // namespace troupe
