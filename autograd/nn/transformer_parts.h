// The common parts of transformer encoder and decoder layers.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/attention.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "tensor/generator.h"

namespace troupe::nn {

enum class TransformerActivation : std::uint8_t { relu, gelu };

/// Options of an encoder or decoder layer.
struct TransformerOptions {
  std::int64_t feedforward = 2048;  ///< width between the two linear layers
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  bool batch_first = false;  ///< (n, steps, width) instead of (steps, n, width)
  bool norm_first = false;   ///< normalises the inputs of attention and feedforward instead of their results
  double eps = 1e-5;         ///< of the normalisation layers
  DType dtype = DType::f32;
};

/// Whether an encoder or decoder normalises the result of its last layer.
enum class FinalNorm : std::uint8_t { no, yes };

namespace detail {

/// Creates the parts of layers of this width. Each part draws its initial values when it is created.
struct TransformerParts {
  std::int64_t width;
  Generator& generator;
  const TransformerOptions& options;

  [[nodiscard]] std::shared_ptr<MultiheadAttention> attention(std::int64_t heads) const;
  [[nodiscard]] std::shared_ptr<Linear> linear(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] std::shared_ptr<Dropout> dropout() const;
  [[nodiscard]] std::shared_ptr<LayerNorm> norm() const;
};

/// Returns linear2(dropout(activation(linear1(x)))).
[[nodiscard]] Variable feed_forward(const Variable& x, Linear& linear1, TransformerActivation activation,
                                    Dropout& dropout, Linear& linear2);

}  // namespace detail
}  // namespace troupe::nn
