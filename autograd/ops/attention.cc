#include "autograd/ops/attention.h"

#include <utility>
#include <vector>

#include "autograd/reads.h"
#include "autograd/record.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::Saved;
using Edges = std::span<const Edge>;

Variable attention(const Variable& query, const Variable& key, const Variable& value, const Variable& mask,
                   const ScaledDotProductOptions& options, Generator* generator) {
  const auto [q, k, v] = detail::values_of(query, key, value);
  const ScaledDotProductResult forward = scaled_dot_product_attention_forward(q, k, v, options, generator);
  return record("scaled_dot_product_attention", forward.output, edges_of({&query, &key, &value, &mask}),
                [q = Saved(q), k = Saved(k), v = Saved(v), output = Saved(forward.output), mask = Saved(options.mask),
                 sums = Saved(forward.sums), draws = forward.draws, options](const Tensor& g, Edges to) {
                  static_cast<void>(mask.get());  // throws if the mask was written to
                  const ScaledDotProductWanted wanted{bool{to[0]}, bool{to[1]}, bool{to[2]}, bool{to[3]}};
                  ScaledDotProductGradients found = scaled_dot_product_attention_backward(
                      g, q.get(), k.get(), v.get(), {output.get(), sums.get(), draws}, options, wanted);
                  return std::vector<Tensor>{std::move(found.query), std::move(found.key), std::move(found.value),
                                             std::move(found.mask)};
                });
}

/// Returns the options with the value of `mask` as their mask.
ScaledDotProductOptions masked(const ScaledDotProductOptions& options, const Variable& mask) {
  if (!mask.defined()) return options;
  if (options.mask.defined()) throw ValueError("[scaled_dot_product_attention] two masks");
  ScaledDotProductOptions with = options;
  with.mask = mask.value();
  return with;
}

Generator* drawn_from(const ScaledDotProductOptions& options, Generator& generator) {
  return options.dropout > 0.0 ? &detail::generator_here(generator) : nullptr;
}

}  // namespace

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const ScaledDotProductOptions& options) {
  return attention(query, key, value, {}, options, nullptr);
}

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const ScaledDotProductOptions& options, Generator& generator) {
  return attention(query, key, value, {}, options, drawn_from(options, generator));
}

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const Variable& mask, const ScaledDotProductOptions& options) {
  return attention(query, key, value, mask, masked(options, mask), nullptr);
}

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const Variable& mask, const ScaledDotProductOptions& options,
                                      Generator& generator) {
  return attention(query, key, value, mask, masked(options, mask), drawn_from(options, generator));
}

}  // namespace troupe
