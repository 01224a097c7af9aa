#include "autograd/ops_attention.h"

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

Variable attention(const Variable& query, const Variable& key, const Variable& value,
                   const ScaledDotProductOptions& options, Generator* generator) {
  const Tensor q = query.value();
  const Tensor k = key.value();
  const Tensor v = value.value();
  const ScaledDotProductResult forward = scaled_dot_product_attention_forward(q, k, v, options, generator);
  return record("scaled_dot_product_attention", forward.output, edges_of({&query, &key, &value}),
                [q = Saved(q), k = Saved(k), v = Saved(v), output = Saved(forward.output), mask = Saved(options.mask),
                 logsumexp = Saved(forward.logsumexp), draws = forward.draws, options](const Tensor& g, Edges to) {
                  static_cast<void>(mask.get());  // is as it was
                  const ScaledDotProductGradients found = scaled_dot_product_attention_backward(
                      g, q.get(), k.get(), v.get(), {output.get(), logsumexp.get(), draws}, options);
                  return std::vector<Tensor>{to[0] ? found.query : Tensor(), to[1] ? found.key : Tensor(),
                                             to[2] ? found.value : Tensor()};
                });
}

}  // namespace

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const ScaledDotProductOptions& options) {
  return attention(query, key, value, options, nullptr);
}

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                      const ScaledDotProductOptions& options, Generator& generator) {
  const bool draws = options.dropout > 0.0;
  return attention(query, key, value, options, draws ? &detail::generator_here(generator) : nullptr);
}

}  // namespace troupe
