// A table of vectors whose rows are spread over several nodes, for models whose embeddings fit no single machine.
//
//   const ShardedEmbedding items(node, {"ps0", "ps1", "ps2"}, {.rows = 1'000'000, .width = 64, .seed = 1});
//   DistOptimizer optimizer(node, optim::AdagradOptions{}, items.parameters(node));
//   DistContext ctx(node);
//   const Variable vectors = items.lookup(ctx, indices);      // rows from each owner, in parallel
//   backward(ctx, loss(vectors));                              // each owner gets the gradient of its rows
//   optimizer.step(ctx);                                       // which steps these rows only
#pragma once

#include <cstdint>
#include <vector>

#include "actors/embedding/embedding_shard.h"
#include "actors/future.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/ops/embedding.h"
#include "autograd/variable.h"
#include "tensor/tensor.h"

namespace troupe {

/// Rows on their way from their owners. Thread rule: one thread at a time.
class PendingRows {
 public:
  /// Waits for the rows and returns them, as ShardedEmbedding::lookup. To be called once, in the order of the lookups:
  /// the graph is recorded here. Throws RemoteError.
  [[nodiscard]] Variable get();
  /// The same, reduced as ShardedEmbedding::lookup_bags.
  [[nodiscard]] Variable get_bags(const Tensor& offsets = {}, const EmbeddingBagOptions& options = {},
                                  const Variable& per_sample_weights = {});

 private:
  friend class ShardedEmbedding;
  [[nodiscard]] Variable rows_of_all_owners();

  std::vector<Future<Variable>> parts_;
  Tensor places_;
  std::int64_t padding_place_ = -1;
};

/// A handle: copies are the same table. Travels in arguments and results: one node makes the table, publishes the
/// handle, and others find it. Row r lives on owner XXH64(r) modulo their number and has the same first values for any
/// number of them.
///
/// All results are, bit for bit, those of the same table on one owner, on the CPU: gradients of equal indices of one
/// lookup are summed at the caller, in the order of the indices; those of several lookups at the owner, in the order in
/// which a pass sums calls. Every owner takes part in every lookup inside a context, also with no row, so that all have
/// taken the same number of optimizer steps. Indices, offsets, weights and values may be on any device; results are on
/// the CPU, and the gradient of weights goes back to theirs.
/// Thread rule: any thread may call any member.
class ShardedEmbedding {
 public:
  /// A null handle: every use throws std::logic_error.
  ShardedEmbedding() = default;

  /// Makes the table and waits until every owner has made its rows. Throws ValueError, IndexError or DTypeError as
  /// EmbeddingTable::check; std::invalid_argument if `owners` is empty or names a node twice; RemoteError.
  ShardedEmbedding(const Scope& scope, const std::vector<NodeName>& owners, const EmbeddingTable& table);

  /// Returns the rows of `indices` (i64 or i32), with their gradient in the context of `scope`. Shapes: S -> S +
  /// (width). Throws IndexError `[ShardedEmbedding] index out of range: 7 of 5`; RemoteError that names an owner that
  /// is gone.
  [[nodiscard]] Variable lookup(const Scope& scope, const Tensor& indices) const;

  /// Returns sums, means or maxima of bags of rows. Shapes, options and errors are those of embedding_bag() without its
  /// padding: the table's padding row is ignored.
  [[nodiscard]] Variable lookup_bags(const Scope& scope, const Tensor& indices, const Tensor& offsets = {},
                                     const EmbeddingBagOptions& options = {},
                                     const Variable& per_sample_weights = {}) const;

  /// Asks the owners for the rows of a later lookup: they travel while the caller computes. Their values are those at
  /// the time when an owner is asked. Throws as lookup.
  [[nodiscard]] PendingRows prefetch(const Scope& scope, const Tensor& indices) const;

  /// Returns rows without a gradient. Only owners with rows of `indices` are asked. Throws as lookup.
  [[nodiscard]] Tensor pull_rows(const Scope& scope, const Tensor& indices) const;

  /// Sets rows to `values`, S + (width) for indices of shape S; of an index that is given twice to the last one.
  /// REQUIRES: no optimizer steps the table meanwhile, for one of both could be lost. Throws also ShapeError and
  /// DTypeError, before any row changes.
  void push_rows(const Scope& scope, const Tensor& indices, const Tensor& values) const;

  /// Returns one parameter per owner, in the order of the owners. Rules that step by rows (SparseAdam; Sgd without
  /// momentum and Adagrad, both without weight decay) read and write the rows of a step's lookups only.
  [[nodiscard]] std::vector<RRef<Variable>> parameters(Through through) const;

  [[nodiscard]] const EmbeddingTable& table() const { return table_; }
  [[nodiscard]] std::vector<NodeName> owners() const;
  [[nodiscard]] const std::vector<RRef<detail::EmbeddingShard>>& shards() const { return shards_; }

  /// For calls; elsewhere it throws EncodeError or DecodeError, as for an RRef.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(table_, shards_);
  }

 private:
  [[nodiscard]] detail::SplitIndices split(const Tensor& indices) const;

  EmbeddingTable table_;
  std::vector<RRef<detail::EmbeddingShard>> shards_;
};

}  // namespace troupe
