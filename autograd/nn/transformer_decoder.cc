#include "autograd/nn/transformer_decoder.h"

#include <fmt/format.h>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "tensor/error.h"

namespace troupe::nn {

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t width, std::int64_t heads, Generator& generator,
                                                 const TransformerOptions& options)
    : options_(options) {
  const detail::TransformerParts make{width, generator, options};
  self_attention_ = add_module("self_attn", make.attention(heads));
  memory_attention_ = add_module("multihead_attn", make.attention(heads));
  linear1_ = add_module("linear1", make.linear(width, options.feedforward));
  dropout_ = add_module("dropout", make.dropout());
  linear2_ = add_module("linear2", make.linear(options.feedforward, width));
  norm1_ = add_module("norm1", make.norm());
  norm2_ = add_module("norm2", make.norm());
  norm3_ = add_module("norm3", make.norm());
  dropout1_ = add_module("dropout1", make.dropout());
  dropout2_ = add_module("dropout2", make.dropout());
  dropout3_ = add_module("dropout3", make.dropout());
}

Variable TransformerDecoderLayer::forward(const Variable& given, const Variable& looked_at, const AttentionMasks& masks,
                                          const AttentionMasks& memory_masks) {
  const auto [x, memory] = troupe::detail::one_version_of(given, looked_at);
  if (options_.norm_first) {
    const Variable attended = x + attend(norm1_->forward(x), masks);
    const Variable looked_up = attended + look_up(norm2_->forward(attended), memory, memory_masks);
    return looked_up + feed_forward(norm3_->forward(looked_up));
  }
  const Variable attended = norm1_->forward(x + attend(x, masks));
  const Variable looked_up = norm2_->forward(attended + look_up(attended, memory, memory_masks));
  return norm3_->forward(looked_up + feed_forward(looked_up));
}

Variable TransformerDecoderLayer::attend(const Variable& x, const AttentionMasks& masks) {
  return dropout1_->forward(self_attention_->forward(x, x, x, masks).output);
}

Variable TransformerDecoderLayer::look_up(const Variable& x, const Variable& memory, const AttentionMasks& masks) {
  return dropout2_->forward(memory_attention_->forward(x, memory, memory, masks).output);
}

Variable TransformerDecoderLayer::feed_forward(const Variable& x) {
  return dropout3_->forward(detail::feed_forward(x, *linear1_, options_.activation, *dropout_, *linear2_));
}

TransformerDecoder::TransformerDecoder(std::int64_t width, std::int64_t heads, std::int64_t layers,
                                       Generator& generator, const TransformerOptions& options, FinalNorm norm) {
  if (layers < 1) throw ValueError(fmt::format("[TransformerDecoder] layers below 1: {}", layers));
  layers_ = add_module("layers", std::make_shared<ModuleList<TransformerDecoderLayer>>());
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_->append(std::make_shared<TransformerDecoderLayer>(width, heads, generator, options));
  }
  if (norm == FinalNorm::yes) norm_ = add_module("norm", detail::TransformerParts{width, generator, options}.norm());
}

Variable TransformerDecoder::forward(const Variable& x, const Variable& memory, const AttentionMasks& masks,
                                     const AttentionMasks& memory_masks) {
  auto [y, looked_at] = troupe::detail::one_version_of(x, memory);
  for (const auto& layer : *layers_) y = layer->forward(y, looked_at, masks, memory_masks);
  return norm_ ? norm_->forward(y) : y;
}

}  // namespace troupe::nn
