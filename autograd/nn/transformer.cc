#include "autograd/nn/transformer.h"

#include <fmt/format.h>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "tensor/error.h"

namespace troupe::nn {

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t width, std::int64_t heads, Generator& generator,
                                                 const TransformerOptions& options)
    : options_(options) {
  const detail::TransformerParts make{width, generator, options};
  self_attention_ = add_module("self_attn", make.attention(heads));
  linear1_ = add_module("linear1", make.linear(width, options.feedforward));
  dropout_ = add_module("dropout", make.dropout());
  linear2_ = add_module("linear2", make.linear(options.feedforward, width));
  norm1_ = add_module("norm1", make.norm());
  norm2_ = add_module("norm2", make.norm());
  dropout1_ = add_module("dropout1", make.dropout());
  dropout2_ = add_module("dropout2", make.dropout());
}

Variable TransformerEncoderLayer::forward(const Variable& given, const AttentionMasks& masks) {
  const Variable x = troupe::detail::as_it_is(given);
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
  return dropout2_->forward(detail::feed_forward(x, *linear1_, options_.activation, *dropout_, *linear2_));
}

TransformerEncoder::TransformerEncoder(std::int64_t width, std::int64_t heads, std::int64_t layers,
                                       Generator& generator, const TransformerOptions& options, FinalNorm norm) {
  if (layers < 1) throw ValueError(fmt::format("[TransformerEncoder] layers below 1: {}", layers));
  layers_ = add_module("layers", std::make_shared<ModuleList<TransformerEncoderLayer>>());
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_->append(std::make_shared<TransformerEncoderLayer>(width, heads, generator, options));
  }
  if (norm == FinalNorm::yes) norm_ = add_module("norm", detail::TransformerParts{width, generator, options}.norm());
}

Variable TransformerEncoder::forward(const Variable& x, const AttentionMasks& masks) {
  Variable y = x;
  for (const auto& layer : *layers_) y = layer->forward(y, masks);
  return norm_ ? norm_->forward(y) : y;
}

}  // namespace troupe::nn
