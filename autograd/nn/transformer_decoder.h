// Transformer decoder. Parameters, names and results are those of torch.nn.TransformerDecoderLayer and
// TransformerDecoder.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/module.h"
#include "autograd/nn/module_list.h"
#include "autograd/nn/transformer_parts.h"

namespace troupe::nn {

/// Computes x + attention(x, x, x), then x + attention(x, memory, memory), then x + linear2(activation(linear1(x))),
/// each normalised. Dropout applies to the added terms and between the linear layers. Parts: self_attn, multihead_attn,
/// linear1, linear2, norm1, norm2, norm3. Shapes, masks and errors as for MultiheadAttention; `memory` is the output of
/// an encoder. forward() is thread-safe, except in training with dropout.
class TransformerDecoderLayer final : public Module {
 public:
  TransformerDecoderLayer(std::int64_t width, std::int64_t heads, Generator& generator,
                          const TransformerOptions& options = {});

  /// `masks` hide steps of x from x, usually later ones: `{.causal = true}`. `memory_masks` hide steps of memory from
  /// x.
  [[nodiscard]] Variable forward(const Variable& x, const Variable& memory, const AttentionMasks& masks = {},
                                 const AttentionMasks& memory_masks = {});

 private:
  [[nodiscard]] Variable attend(const Variable& x, const AttentionMasks& masks);
  [[nodiscard]] Variable look_up(const Variable& x, const Variable& memory, const AttentionMasks& masks);
  [[nodiscard]] Variable feed_forward(const Variable& x);

  TransformerOptions options_;
  std::shared_ptr<MultiheadAttention> self_attention_;
  std::shared_ptr<MultiheadAttention> memory_attention_;
  std::shared_ptr<Linear> linear1_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> linear2_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<LayerNorm> norm3_;
  std::shared_ptr<Dropout> dropout1_;
  std::shared_ptr<Dropout> dropout2_;
  std::shared_ptr<Dropout> dropout3_;
};

/// A chain of layers, each initialised independently. Parts: layers.0, layers.1, ..., and norm for FinalNorm::yes.
class TransformerDecoder final : public Module {
 public:
  /// Throws ValueError `[TransformerDecoder] layers below 1: 0`.
  TransformerDecoder(std::int64_t width, std::int64_t heads, std::int64_t layers, Generator& generator,
                     const TransformerOptions& options = {}, FinalNorm norm = FinalNorm::no);

  /// `memory` and the masks apply in every layer.
  [[nodiscard]] Variable forward(const Variable& x, const Variable& memory, const AttentionMasks& masks = {},
                                 const AttentionMasks& memory_masks = {});

 private:
  std::shared_ptr<ModuleList<TransformerDecoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

}  // namespace troupe::nn
