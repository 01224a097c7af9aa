// Transformer encoder. Parameters, names and results are those of torch.nn.TransformerEncoderLayer and
// TransformerEncoder.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/module.h"
#include "autograd/nn/module_list.h"
#include "autograd/nn/transformer_parts.h"

namespace troupe::nn {

/// x + attention(x, x, x), then x + linear2(activation(linear1(x))), each normalised, with dropout on what is added and
/// between the linear layers. Parts: self_attn, linear1, linear2, norm1, norm2. Shapes, masks and errors as of
/// MultiheadAttention. forward() may run on several threads at once, except while training with dropout.
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

/// Layers one after the other, each with first values of its own. Parts: layers.0, layers.1, ..., and norm if there is
/// one.
class TransformerEncoder final : public Module {
 public:
  /// Throws ValueError `[TransformerEncoder] layers below 1: 0`.
  TransformerEncoder(std::int64_t width, std::int64_t heads, std::int64_t layers, Generator& generator,
                     const TransformerOptions& options = {}, FinalNorm norm = FinalNorm::no);

  /// Every layer sees the masks.
  [[nodiscard]] Variable forward(const Variable& x, const AttentionMasks& masks = {});

 private:
  std::shared_ptr<ModuleList<TransformerEncoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

}  // namespace troupe::nn
