// The rows of a sharded table on one owner.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "actors/embedding/row_owners.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/variable.h"
#include "optim/second_buffers.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace troupe {

/// The table of a ShardedEmbedding.
struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::uint64_t seed = 0;  ///< of the first values
  double deviation = 1.0;  ///< standard deviation of the first values, whose mean is 0
  /// A row of zeros that gets no gradient.
  std::optional<std::int64_t> padding_row = {};
  DType dtype = DType::f32;

  /// Throws ValueError `[ShardedEmbedding] sizes below 1: 0 x 8`, IndexError
  /// `[ShardedEmbedding] padding row out of range: 5 of 5`, DTypeError for a dtype that is not floating.
  void check() const;

  friend bool operator==(const EmbeddingTable&, const EmbeddingTable&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rows, width, seed, deviation, padding_row, dtype);
  }
};

namespace detail {

/// First values of row r are the draws of Generator(seed, r), so they do not depend on the number of owners.
/// Thread rule: any thread may call any member; the value is shared with Sharing::concurrent.
class EmbeddingShard {
 public:
  /// Throws as EmbeddingTable::check, ValueError for a number of owners below 1 or another owner.
  EmbeddingShard(const EmbeddingTable& table, std::int64_t owners, std::int64_t owner);

  // `rows`: i64 (n), rows of this owner. All throw IndexError `[ShardedEmbedding] row 7 is not one of owner 1`.

  /// Returns the rows, (n, width), with a gradient that is rows.
  [[nodiscard]] Variable lookup(const Tensor& rows) const;
  /// Returns the rows without a gradient.
  [[nodiscard]] Tensor pull(const Tensor& rows) const;
  /// Sets the rows to `values`, (n, width); of a row that is given twice to the last one. Throws ShapeError,
  /// DTypeError.
  void push(Scope& scope, const Tensor& rows, const Tensor& values);

  /// Returns a reference to the rows as one parameter, (count, width), for a DistOptimizer.
  [[nodiscard]] RRef<Variable> parameter(Scope& scope) const;

  [[nodiscard]] const Variable& weight() const { return weight_; }
  [[nodiscard]] std::int64_t table_rows() const { return rows_; }
  [[nodiscard]] std::int64_t owners() const { return owners_; }
  [[nodiscard]] std::int64_t owner() const { return owner_; }

 private:
  [[nodiscard]] Tensor places_of(const Tensor& rows) const;
  void set_rows(const Tensor& rows, const Tensor& values);

  const OwnedRows owned_;
  const std::int64_t rows_;  ///< of the whole table
  const std::int64_t owners_;
  const std::int64_t owner_;
  const Variable weight_;
  std::mutex pushes_;             // one at a time
  optim::SecondBuffers buffers_;  // guarded by pushes_
};

/// Every node serves this, and the functions of EmbeddingShard.
[[nodiscard]] EmbeddingShard make_embedding_shard(const EmbeddingTable& table, std::int64_t owners, std::int64_t owner);

}  // namespace detail
}  // namespace troupe
