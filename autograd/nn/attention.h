// Multi-head attention. Parameters, names and results are those of torch.nn.MultiheadAttention.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Options of a MultiheadAttention.
struct AttentionOptions {
  Bias bias = Bias::yes;
  double dropout = 0.0;      ///< probability of dropping an attention weight in training
  bool batch_first = false;  ///< (n, steps, width) instead of (steps, n, width)
  DType dtype = DType::f32;
};

/// Masks hide keys from queries. Sizes: n examples, l queries, s keys. An undefined mask hides nothing. A query from
/// which every key is hidden has the result NaN, and its part of every gradient is NaN. Only where boolean masks and
/// `causal` hide the keys and the weights are returned (AttentionWeights), its part of the gradients of the query and
/// the keys is 0.
struct AttentionMasks {
  Tensor attention{};   ///< (l, s) or (n * heads, l, s): boolean, true hides; or floating, added to the scores
  Tensor padding{};     ///< (n, s), or (s) without examples: boolean, true hides a key from all queries
  bool causal = false;  ///< hides from query i the keys after i

  template <class Archive>
  void serialize(Archive& ar) {
    ar(attention, padding, causal);
  }
};

/// The attention weights that forward() returns. With `none` it calls scaled_dot_product_attention, which keeps none of
/// them for backward and on the CPU never holds all in memory; results may then round differently.
enum class AttentionWeights : std::uint8_t { none, averaged, per_head };

/// The result of attention: the output, and the weights if requested.
struct AttentionResult {
  Variable output;   ///< shape as the query
  Variable weights;  ///< averaged over heads (n, l, s), or per head (n, heads, l, s); undefined for `none`

  template <class Archive>
  void serialize(Archive& ar) {
    ar(output, weights);
  }
};

/// Computes softmax(q k^T / sqrt(width / heads)) v for each head. q, k and v are the head's parts of linear projections
/// of query, key and value. The heads' results are concatenated and projected again. Parameters: in_proj_weight (3 *
/// width, width) for q, k and v, in_proj_bias, and those of the part out_proj.
/// Source: Vaswani et al., "Attention is all you need", 2017.
///
/// Shapes: query (l, n, width), key and value (s, n, width), or all three without n.
/// Throws ShapeError `[MultiheadAttention] query is not (steps, examples, 8): (4, 2, 6)`,
/// `... key and value do not fit the query (4, 2, 8): (5, 3, 8), (5, 2, 8)`,
/// `... attention mask is (4, 4), not (4, 5) or (6, 4, 5)`, `... padding mask is (2, 4), not (2, 5)`;
/// DTypeError `... padding mask is f32, not boolean`.
/// forward() is thread-safe, except in training with dropout: it then draws from the module's own generator.
class MultiheadAttention final : public Module {
 public:
  /// Initialises in_proj_weight by xavier_uniform() and the biases with zeros.
  /// Throws ValueError `[MultiheadAttention] width 10 in 3 heads` or `[MultiheadAttention] dropout outside [0, 1): 1`.
  MultiheadAttention(std::int64_t width, std::int64_t heads, Generator& generator,
                     const AttentionOptions& options = {});

  [[nodiscard]] AttentionResult forward(const Variable& query, const Variable& key, const Variable& value,
                                        const AttentionMasks& masks = {},
                                        AttentionWeights wanted = AttentionWeights::none);

 private:
  struct Projected;
  [[nodiscard]] Projected project(const Variable& query, const Variable& key, const Variable& value) const;
  [[nodiscard]] Variable split_heads(const Variable& x) const;
  [[nodiscard]] Variable join_heads(const Variable& x) const;
  [[nodiscard]] Variable weights(const Projected& projected, const AttentionMasks& masks, const Shape& scores);
  [[nodiscard]] double dropout_now() const;
  void check(const Shape& query, const Shape& key, const Shape& value) const;

  std::int64_t width_;
  std::int64_t heads_;
  AttentionOptions options_;
  Variable in_weight_;
  Variable in_bias_;
  std::shared_ptr<Linear> out_;
  Generator generator_;
};

}  // namespace troupe::nn
