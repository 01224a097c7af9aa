#include "autograd/nn/transformer.h"

#include <fmt/format.h>

#include "autograd/ops.h"
#include "tensor/error.h"

namespace troupe::nn {

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t width, std::int64_t heads, Generator& generator,
                                                 const TransformerOptions& options)
    : options_(options) {
  const AttentionOptions attention{
      .dropout = options.dropout, .batch_first = options.batch_first, .dtype = options.dtype};
  const NormLayerOptions norm{.eps = options.eps, .dtype = options.dtype};
  const auto linear = [&](std::int64_t from, std::int64_t to) {
    return std::make_shared<Linear>(from, to, generator, Bias::yes, options.dtype);
  };
  const auto dropout = [&] { return std::make_shared<Dropout>(options.dropout, generator); };
  self_attention_ = add_module("self_attn", std::make_shared<MultiheadAttention>(width, heads, generator, attention));
  linear1_ = add_module("linear1", linear(width, options.feedforward));
  dropout_ = add_module("dropout", dropout());
  linear2_ = add_module("linear2", linear(options.feedforward, width));
  norm1_ = add_module("norm1", std::make_shared<LayerNorm>(width, norm));
  norm2_ = add_module("norm2", std::make_shared<LayerNorm>(width, norm));
  dropout1_ = add_module("dropout1", dropout());
  dropout2_ = add_module("dropout2", dropout());
}

Variable TransformerEncoderLayer::forward(const Variable& x, const AttentionMasks& masks) {
  if (options_.norm_first) {
    const Variable attended = x + attend(norm1_->forward(x), masks);
    return attended + feed_forward(norm2_->forward(attended));
  }
  const Variable attended = norm1_->forward(x + attend(x, masks));
  return norm2_->forward(attended + feed_forward(attended));
}

Variable TransformerEncoderLayer::attend(const Variable& x, const AttentionMasks& masks) {
  return dropout1_->forward(self_attention_->forward(x, x, x, masks).output);
}

Variable TransformerEncoderLayer::feed_forward(const Variable& x) {
  const Variable wide = linear1_->forward(x);
  const Variable active = options_.activation == TransformerActivation::relu ? relu(wide) : gelu(wide);
  return dropout2_->forward(linear2_->forward(dropout_->forward(active)));
}

TransformerEncoder::TransformerEncoder(std::int64_t width, std::int64_t heads, std::int64_t layers,
                                       Generator& generator, const TransformerOptions& options, FinalNorm norm) {
  if (layers < 1) throw ValueError(fmt::format("[TransformerEncoder] layers below 1: {}", layers));
  layers_ = add_module("layers", std::make_shared<ModuleList<TransformerEncoderLayer>>());
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_->append(std::make_shared<TransformerEncoderLayer>(width, heads, generator, options));
  }
  if (norm == FinalNorm::no) return;
  const NormLayerOptions norm_options{.eps = options.eps, .dtype = options.dtype};
  norm_ = add_module("norm", std::make_shared<LayerNorm>(width, norm_options));
}

Variable TransformerEncoder::forward(const Variable& x, const AttentionMasks& masks) {
  Variable y = x;
  for (const auto& layer : *layers_) y = layer->forward(y, masks);
  return norm_ ? norm_->forward(y) : y;
}

}  // namespace troupe::nn
