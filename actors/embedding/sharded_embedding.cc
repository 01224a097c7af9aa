#include "actors/embedding/sharded_embedding.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "actors/collect.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/embedding.h"
#include "tensor/ops/index.h"
#include "tensor/ops/shape.h"

namespace troupe {

using detail::EmbeddingShard;

namespace {

/// Rows are put together on the CPU, and what is used with them goes there. Undefined stays undefined.
template <class T>
T beside_rows(const T& x) {
  return x.defined() ? x.to(Device::cpu()) : x;
}

}  // namespace

Variable PendingRows::rows_of_all_owners() {
  std::vector<Variable> parts;
  // A device map may bring what an owner has on its CPU to a GPU.
  for (const Future<Variable>& part : parts_) parts.push_back(part.get().to(Device::cpu()));
  return concat(parts, 0);
}

Variable PendingRows::get() {
  EmbeddingOptions options;
  if (padding_place_ >= 0) options.padding_idx = padding_place_;
  return embedding(rows_of_all_owners(), places_, options);
}

Variable PendingRows::get_bags(const Tensor& offsets, const EmbeddingBagOptions& options,
                               const Variable& per_sample_weights) {
  EmbeddingBagOptions of_rows = options;
  of_rows.sparse = false;
  of_rows.padding_idx.reset();
  if (padding_place_ >= 0) of_rows.padding_idx = padding_place_;
  return embedding_bag(rows_of_all_owners(), places_, beside_rows(offsets), of_rows, beside_rows(per_sample_weights));
}

ShardedEmbedding::ShardedEmbedding(const Scope& scope, const std::vector<NodeName>& owners, const EmbeddingTable& table)
    : table_(table) {
  table.check();
  if (owners.empty()) throw std::invalid_argument("[ShardedEmbedding] no owners");
  if (std::set<NodeName>(owners.begin(), owners.end()).size() != owners.size())
    throw std::invalid_argument("[ShardedEmbedding] an owner is given twice");
  const Scope shared = detail::without_context(scope).with({.sharing = Sharing::concurrent});
  std::vector<Future<void>> made;
  for (const NodeName& owner : owners) {
    shards_.push_back(
        shared.remote(owner, &detail::make_embedding_shard, table, std::ssize(owners), std::ssize(shards_)));
    made.push_back(shards_.back().created(shared));
  }
  wait_all(made);
}

detail::SplitIndices ShardedEmbedding::split(const Tensor& indices) const {
  if (shards_.empty()) throw std::logic_error("[ShardedEmbedding] the table is null");
  return detail::split_indices(indices, table_.rows, std::ssize(shards_), table_.padding_row.value_or(-1));
}

PendingRows ShardedEmbedding::prefetch(const Scope& scope, const Tensor& indices) const {
  detail::SplitIndices split = this->split(indices);
  PendingRows pending;
  for (std::size_t i = 0; i < shards_.size(); ++i)
    pending.parts_.push_back(shards_[i].rpc_async(scope, &EmbeddingShard::lookup, split.rows[i]));
  pending.places_ = std::move(split.places);
  pending.padding_place_ = split.padding_place;
  return pending;
}

Variable ShardedEmbedding::lookup(const Scope& scope, const Tensor& indices) const {
  return prefetch(scope, indices).get();
}

Variable ShardedEmbedding::lookup_bags(const Scope& scope, const Tensor& indices, const Tensor& offsets,
                                       const EmbeddingBagOptions& options, const Variable& per_sample_weights) const {
  return prefetch(scope, indices).get_bags(offsets, options, per_sample_weights);
}

Tensor ShardedEmbedding::pull_rows(const Scope& scope, const Tensor& indices) const {
  const detail::SplitIndices split = this->split(indices);
  const Scope outside = detail::without_context(scope);
  std::vector<Future<Tensor>> asked;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    if (split.rows[i].numel() > 0) asked.push_back(shards_[i].rpc_async(outside, &EmbeddingShard::pull, split.rows[i]));
  }
  std::vector<Tensor> parts;
  for (const Future<Tensor>& part : asked) parts.push_back(part.get().to(Device::cpu()));
  if (parts.empty()) parts.push_back(zeros({0, table_.width}, table_.dtype));
  return embedding(concat(parts, 0), split.places);
}

void ShardedEmbedding::push_rows(const Scope& scope, const Tensor& indices, const Tensor& values) const {
  const detail::SplitIndices split = this->split(indices);
  Shape wanted = indices.shape();
  wanted.push_back(table_.width);
  values.require_defined("ShardedEmbedding");
  if (values.shape() != wanted) {
    throw ShapeError(
        fmt::format("[ShardedEmbedding] values are {}, not {}", to_string(values.shape()), to_string(wanted)));
  }
  if (values.dtype() != table_.dtype) {
    throw DTypeError(
        fmt::format("[ShardedEmbedding] values are {}, not {}", name_of(values.dtype()), name_of(table_.dtype)));
  }
  // The last value of each row, in the order of `places`.
  std::int64_t count = 0;
  for (const Tensor& rows : split.rows) count += rows.numel();
  std::vector<std::int64_t> last(static_cast<std::size_t>(count));
  const auto places = split.places.data<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i)
    last[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i);
  const Tensor in_order = index_select(beside_rows(values).reshape({indices.numel(), table_.width}), 0,
                                       from_values<std::int64_t>(std::span(last), {count}));

  const Scope outside = detail::without_context(scope);
  std::vector<Future<void>> done;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::int64_t rows = split.rows[i].numel();
    if (rows == 0) continue;
    done.push_back(
        shards_[i].rpc_async(outside, &EmbeddingShard::push, split.rows[i], in_order.slice(0, first, first + rows)));
    first += rows;
  }
  if (!done.empty()) wait_all(done);
}

std::vector<RRef<Variable>> ShardedEmbedding::parameters(Through through) const {
  if (shards_.empty()) throw std::logic_error("[ShardedEmbedding] the table is null");
  const Scope outside = detail::without_context(through.scope);
  std::vector<Future<RRef<Variable>>> asked;
  for (const auto& shard : shards_)
    asked.push_back(shard.rpc_async({outside, through.site}, &EmbeddingShard::parameter));
  return wait_all(asked);
}

std::vector<NodeName> ShardedEmbedding::owners() const {
  std::vector<NodeName> owners;
  for (const auto& shard : shards_) owners.push_back(shard.owner());
  return owners;
}

}  // namespace troupe
