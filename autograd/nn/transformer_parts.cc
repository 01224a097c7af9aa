#include "autograd/nn/transformer_parts.h"

#include "autograd/ops.h"

namespace troupe::nn::detail {

std::shared_ptr<MultiheadAttention> TransformerParts::attention(std::int64_t heads) const {
  return std::make_shared<MultiheadAttention>(
      width, heads, generator,
      AttentionOptions{.dropout = options.dropout, .batch_first = options.batch_first, .dtype = options.dtype});
}

std::shared_ptr<Linear> TransformerParts::linear(std::int64_t from, std::int64_t to) const {
  return std::make_shared<Linear>(from, to, generator, Bias::yes, options.dtype);
}

std::shared_ptr<Dropout> TransformerParts::dropout() const {
  return std::make_shared<Dropout>(options.dropout, generator);
}

std::shared_ptr<LayerNorm> TransformerParts::norm() const {
  return std::make_shared<LayerNorm>(width, NormLayerOptions{.eps = options.eps, .dtype = options.dtype});
}

Variable feed_forward(const Variable& x, Linear& linear1, TransformerActivation activation, Dropout& dropout,
                      Linear& linear2) {
  const Variable wide = linear1.forward(x);
  const Variable active = activation == TransformerActivation::relu ? relu(wide) : gelu(wide);
  return linear2.forward(dropout.forward(active));
}

}  // namespace troupe::nn::detail
