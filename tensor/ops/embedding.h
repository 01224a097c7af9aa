// Rows of a table by number, alone and in bags; rules as in ops.h. An index is i64 or i32.
// Throws IndexError `[embedding] index out of range: 7 of 5`.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace troupe {

/// Rows of `weight` (rows, width): index of any shape S -> S + (width).
[[nodiscard]] Tensor embedding(const Tensor& weight, const Tensor& index);
/// The gradient of embedding for its weight, (rows, width).
[[nodiscard]] Tensor embedding_backward(const Tensor& grad, const Tensor& index, std::int64_t rows);

/// What becomes of the rows of a bag; of an empty one zeros.
enum class BagMode : std::uint8_t { sum, mean, max };

/// What a bag is and what becomes of its rows.
struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  /// Whether `offsets` end with where the last bag ends, as in CSR; else it ends with the index.
  bool include_last_offset = false;
  /// A row that counts nothing, as if it were not in the bag; negative from the end.
  std::optional<std::int64_t> padding_idx{};
  /// For variables: whether the gradient by the weight is rows (Gradients::sparse_of), not a table.
  bool sparse = false;
};

/// Sum, mean or largest elements of the rows of each bag, without a tensor of all rows. `weight` (rows, width) is
/// floating. Shapes: index (n) with `offsets` (bags), where each bag begins, or index (bags, n) with undefined offsets
/// -> (bags, width). `per_sample_weights` have the shape of the index, and mode sum: what each row is multiplied with;
/// undefined: 1.
/// Throws ShapeError `[embedding_bag] an index of 1 dimensions needs offsets`, `[embedding_bag] offsets for an index of
/// 2 dimensions`, `[embedding_bag] index of 3 dimensions`, `[embedding_bag] weights of samples do not fit: (3) for
/// (4)`,
/// `[embedding_bag] not 1 dimensions: (2, 2)`, ValueError `[embedding_bag] offsets begin with 1, not 0`,
/// `[embedding_bag] offset 3 after 5`,
/// `[embedding_bag] offset 7 of 5`, `[embedding_bag] offsets end with 4, not 5`, `[embedding_bag] weights of samples
/// need mode sum`, IndexError `[embedding_bag] padding index out of range: 5 of 5`.
[[nodiscard]] Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets = {},
                                   const EmbeddingBagOptions& options = {}, const Tensor& per_sample_weights = {});

}  // namespace troupe
