#include "autograd/ops/embedding.h"

#include <memory>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "autograd/rows_fn.h"
#include "tensor/ops.h"
#include "tensor/ops/embedding_bag.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::record_rows;
using detail::Saved;
using Edges = std::span<const Edge>;

std::shared_ptr<const SparseTensor> shared(SparseTensor rows) {
  return std::make_shared<const SparseTensor>(std::move(rows));
}

/// Saved values of embedding_bag for its backward.
struct SavedBags {
  detail::EmbeddingBag bags;
  Saved index;  ///< checked with those below: `bags` may share their memory
  Saved offsets;
  Saved samples;
  Saved where_max;
  Saved weight;  ///< for the gradient by the per-sample weights

  [[nodiscard]] const detail::EmbeddingBag& get() const {
    static_cast<void>(index.get());
    static_cast<void>(offsets.get());
    static_cast<void>(samples.get());
    return bags;
  }
};

}  // namespace

Variable embedding(const Variable& weight, const Tensor& index, const EmbeddingOptions& options) {
  const Tensor table = weight.value();
  Tensor value = embedding(table, index);
  const std::int64_t rows = table.size(0);
  const std::int64_t padding = detail::padding_row("embedding", options.padding_idx, rows);
  if (options.sparse) {
    return record_rows("embedding", std::move(value), edges_of({&weight}),
                       [rows, padding, index = Saved(index)](const Tensor& g, Edges) {
                         return RowsFn::Applied{shared(detail::embedding_backward_rows(g, index.get(), rows, padding)),
                                                std::vector<Tensor>(1)};
                       });
  }
  return record("embedding", std::move(value), edges_of({&weight}),
                [rows, padding, index = Saved(index)](const Tensor& g) {
                  Tensor by_table = embedding_backward(g, index.get(), rows);
                  if (padding >= 0) by_table.select(0, padding).fill(0.0);
                  return by_table;
                });
}

Variable embedding_bag(const Variable& weight, const Tensor& index, const Tensor& offsets,
                       const EmbeddingBagOptions& options, const Variable& per_sample_weights) {
  const Tensor table = weight.value();
  const Tensor samples = per_sample_weights.defined() ? per_sample_weights.value() : Tensor();
  detail::EmbeddingBag bags(table, index, offsets, options, samples);
  detail::EmbeddingBag::Result result = bags.forward(table);
  const bool by_samples = per_sample_weights.defined() && per_sample_weights.requires_grad();
  SavedBags saved{std::move(bags),         Saved(index),
                  Saved(offsets),          Saved(samples),
                  Saved(result.where_max), by_samples ? Saved(table) : Saved()};
  std::vector<Edge> edges = edges_of({&weight, &per_sample_weights});
  if (options.sparse) {
    return record_rows("embedding_bag", std::move(result.output), std::move(edges),
                       [saved = std::move(saved)](const Tensor& g, Edges to) {
                         RowsFn::Applied applied{nullptr, std::vector<Tensor>(2)};
                         if (to[0]) applied.rows = shared(saved.get().backward_rows(g, saved.where_max.get()));
                         if (to[1]) applied.gradients[1] = saved.get().backward_samples(g, saved.weight.get());
                         return applied;
                       });
  }
  return record("embedding_bag", std::move(result.output), std::move(edges),
                [saved = std::move(saved)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = saved.get().backward(g, saved.where_max.get());
                  if (to[1]) gradients[1] = saved.get().backward_samples(g, saved.weight.get());
                  return gradients;
                });
}

}  // namespace troupe
