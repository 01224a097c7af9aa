#include <optional>

#include "autograd/nn/attention.h"
#include "autograd/nn/state_dict.h"
#include "autograd/nn/transformer.h"
#include "autograd/nn/transformer_decoder.h"
#include "autograd/ops/attention.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

nn::AttentionMasks masks(const Case& c) { return {c.find("option.attention"), c.find("option.padding"), false}; }

nn::TransformerOptions options(const Case& c) {
  return {
      .feedforward = c.integer("feedforward"),
      .dropout = 0.0,
      .activation = c.text("activation") == "relu" ? nn::TransformerActivation::relu : nn::TransformerActivation::gelu,
      .batch_first = c.flag("batch_first"),
      .norm_first = c.flag("norm_first"),
      .eps = c.number("eps"),
      .dtype = c.dtype()};
}

Computed attention(const Case& c) {
  Generator generator(1);
  const auto module = std::make_shared<nn::MultiheadAttention>(
      c.integer("width"), c.integer("heads"), generator,
      nn::AttentionOptions{.bias = c.flag("bias") ? nn::Bias::yes : nn::Bias::no,
                           .batch_first = c.flag("batch_first"),
                           .dtype = c.dtype()});
  nn::load_state_dict(*module, c.all("parameter."));
  const Variable& query = c.in(0);
  const Variable& key = c.inputs().size() > 1 ? c.in(1) : query;
  const Variable& value = c.inputs().size() > 2 ? c.in(2) : key;
  const nn::AttentionResult result =
      module->forward(query, key, value, masks(c),
                      c.flag("averaged") ? nn::AttentionWeights::averaged : nn::AttentionWeights::per_head);
  return {{result.output, result.weights}, module};
}

Computed encoder_layer(const Case& c) {
  Generator generator(1);
  const auto module =
      std::make_shared<nn::TransformerEncoderLayer>(c.integer("width"), c.integer("heads"), generator, options(c));
  nn::load_state_dict(*module, c.all("parameter."));
  return {module->forward(c.in(0), masks(c)), module};
}

Computed encoder(const Case& c) {
  Generator generator(1);
  const auto module = std::make_shared<nn::TransformerEncoder>(
      c.integer("width"), c.integer("heads"), c.integer("layers"), generator, options(c), nn::FinalNorm::yes);
  nn::load_state_dict(*module, c.all("parameter."));
  return {module->forward(c.in(0), masks(c)), module};
}

/// A decoder of a target and its memory; a single layer if the case has no number of layers.
Computed decoder(const Case& c) {
  Generator generator(1);
  const nn::AttentionMasks of_memory{.padding = c.find("option.memory_padding")};
  const auto computed = [&](const auto& module) -> Computed {
    nn::load_state_dict(*module, c.all("parameter."));
    return {module->forward(c.in(0), c.in(1), masks(c), of_memory), module};
  };
  if (c.integer("layers") == 0) {
    return computed(
        std::make_shared<nn::TransformerDecoderLayer>(c.integer("width"), c.integer("heads"), generator, options(c)));
  }
  return computed(std::make_shared<nn::TransformerDecoder>(c.integer("width"), c.integer("heads"), c.integer("layers"),
                                                           generator, options(c), nn::FinalNorm::yes));
}

Computed dot_product(const Case& c) {
  const ScaledDotProductOptions options{.mask = c.find("option.mask"),
                                        .causal = c.has("causal"),
                                        .scale = c.has("scale") ? std::optional(c.number("scale")) : std::nullopt};
  return scaled_dot_product_attention(c.in(0), c.in(1), c.in(2), options);
}

}  // namespace

Entries attention_entries() {
  return {
      {"MultiheadAttention", attention},
      {"TransformerDecoder", decoder},
      {"TransformerDecoderLayer", decoder},
      {"TransformerEncoder", encoder},
      {"TransformerEncoderLayer", encoder_layer},
      {"scaled_dot_product_attention", dot_product},
      {"biased_dot_product_attention",
       [](const Case& c) { return scaled_dot_product_attention(c.in(0), c.in(1), c.in(2), c.in(3)); }},
  };
}

}  // namespace troupe::reference
