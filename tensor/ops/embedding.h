// Rows of a table by index, single and reduced in bags; rules as in ops.h. An index is i64 or i32.
// Throws IndexError `[embedding] index out of range: 7 of 5`.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace troupe {

/// Returns the rows of `weight` at `index`. Shapes: weight (rows, width), index of any shape S -> S + (width).
[[nodiscard]] Tensor embedding(const Tensor& weight, const Tensor& index);
/// The gradient of embedding with respect to its weight, (rows, width).
[[nodiscard]] Tensor embedding_backward(const Tensor& grad, const Tensor& index, std::int64_t rows);

/// The reduction over the rows of a bag. An empty bag gives zeros.
enum class BagMode : std::uint8_t { sum, mean, max };

/// Reduction, offsets and padding of embedding_bag.
struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  /// Whether the last of `offsets` is the end of the last bag, as in CSR. Otherwise the last bag ends with the index.
  bool include_last_offset = false;
  /// A row that bags ignore; negative counts from the end.
  std::optional<std::int64_t> padding_idx{};
  /// For variables: whether the gradient of the weight is sparse (Gradients::sparse_of) instead of dense.
  bool sparse = false;
};

/// Returns the sum, mean or maximum of the rows of each bag, without a tensor of all rows. `weight` is floating.
/// Shapes: weight (rows, width); index (n) with `offsets` (bags), the start of each bag, or index (bags, n) with
/// undefined offsets -> (bags, width). `per_sample_weights`, only with mode sum, has the shape of the index and
/// multiplies each row; undefined: 1.
/// Throws ShapeError `[embedding_bag] an index of 1 dimensions needs offsets`,
/// `[embedding_bag] offsets for an index of 2 dimensions`, `[embedding_bag] index of 3 dimensions`,
/// `[embedding_bag] weights of samples do not fit: (3) for (4)`, `[embedding_bag] not 1 dimensions: (2, 2)`,
/// ValueError `[embedding_bag] offsets begin with 1, not 0`, `[embedding_bag] offset 3 after 5`,
/// `[embedding_bag] offset 7 of 5`, `[embedding_bag] offsets end with 4, not 5`,
/// `[embedding_bag] weights of samples need mode sum`, IndexError `[embedding_bag] padding index out of range: 5 of 5`.
[[nodiscard]] Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets = {},
                                   const EmbeddingBagOptions& options = {}, const Tensor& per_sample_weights = {});

}  // namespace troupe
