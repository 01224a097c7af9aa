// Transformer encoder. Parameters, names and results are those of torch.nn.TransformerEncoderLayer and
// TransformerEncoder.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/module.h"
#include "autograd/nn/module_list.h"
#include "autograd/nn/transformer_parts.h"

namespace troupe::nn {

/// Computes x + attention(x, x, x), then x + linear2(activation(linear1(x))), each normalised. Dropout applies to the
/// added terms and between the linear layers. Parts: self_attn, linear1, linear2, norm1, norm2. Shapes, masks and
/// errors as for MultiheadAttention. forward() is thread-safe, except in training with dropout.
class TransformerEncoderLayer final : public Module {
 public:
  TransformerEncoderLayer(std::int64_t width, std::int64_t heads, Generator& generator,
                          const TransformerOptions& options = {});

  [[nodiscard]] Variable forward(const Variable& x, const AttentionMasks& masks = {});

 private:
  [[nodiscard]] Variable attend(const Variable& x, const AttentionMasks& masks);
  [[nodiscard]] Variable feed_forward(const Variable& x);

  TransformerOptions options_;
  std::shared_ptr<MultiheadAttention> self_attention_;
  std::shared_ptr<Linear> linear1_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> linear2_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<Dropout> dropout1_;
  std::shared_ptr<Dropout> dropout2_;
};

/// A chain of layers, each initialised independently. Parts: layers.0, layers.1, ..., and norm for FinalNorm::yes.
class TransformerEncoder final : public Module {
 public:
  /// Throws ValueError `[TransformerEncoder] layers below 1: 0`.
  TransformerEncoder(std::int64_t width, std::int64_t heads, std::int64_t layers, Generator& generator,
                     const TransformerOptions& options = {}, FinalNorm norm = FinalNorm::no);

  /// `masks` apply in every layer.
  [[nodiscard]] Variable forward(const Variable& x, const AttentionMasks& masks = {});

 private:
  std::shared_ptr<ModuleList<TransformerEncoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

}  // namespace troupe::nn
