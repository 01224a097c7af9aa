// Which owner has which rows of a sharded table. Plain rules: the same on every node, in every version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the number of the owner, below `owners`, of a row: XXH64 of the row's 8 bytes, little endian, with seed 0,
/// modulo `owners`. REQUIRES: owners > 0.
[[nodiscard]] std::int64_t owner_of(std::int64_t row, std::int64_t owners) noexcept;

/// The rows of one owner. An owner keeps them in ascending order: a row's place is its index there. One bit per row of
/// the table. Immutable.
class OwnedRows {
 public:
  OwnedRows(std::int64_t rows, std::int64_t owners, std::int64_t owner);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Returns whether the row is one of the owner's; any number may be asked for.
  [[nodiscard]] bool has(std::int64_t row) const noexcept;
  /// Returns the number of the owner's rows before `row`. REQUIRES: has(row).
  [[nodiscard]] std::int64_t place_of(std::int64_t row) const noexcept;
  /// Returns the owner's first row after `row`, which may be -1. REQUIRES: there is one.
  [[nodiscard]] std::int64_t next_after(std::int64_t row) const noexcept;
  /// Returns all rows, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> all() const;

 private:
  /// 64 rows of the table.
  struct RowBlock {
    std::uint64_t bits = 0;   ///< bit i: the block's row i is one of the owner's
    std::int64_t before = 0;  ///< the owner's rows in earlier blocks
  };
  std::int64_t rows_;
  std::int64_t count_ = 0;
  std::vector<RowBlock> blocks_;
};

/// Indices into a table, split by owner. Each owner is asked for each row once.
struct SplitIndices {
  std::vector<Tensor> rows;  ///< of each owner, i64 (n), in the order in which the indices first name them
  /// The shape of the indices, i64: the place of each index's row among the rows of all owners, one owner after the
  /// other.
  Tensor places;
  std::int64_t padding_place = -1;  ///< of the padding row; -1: no index names it
};

/// `indices`: i64 or i32, any shape; `padding_row`: -1 for none. Throws IndexError
/// `[ShardedEmbedding] index out of range: 7 of 5`, DTypeError `[ShardedEmbedding] indices are f32`.
[[nodiscard]] SplitIndices split_indices(const Tensor& indices, std::int64_t rows, std::int64_t owners,
                                         std::int64_t padding_row);

}  // namespace troupe::detail
