// Attention with several heads. Parameters, names and results are those of torch.nn.MultiheadAttention.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// What a MultiheadAttention is made of.
struct AttentionOptions {
  Bias bias = Bias::yes;
  double dropout = 0.0;      ///< of the weights, while training
  bool batch_first = false;  ///< (n, steps, width) instead of (steps, n, width)
  DType dtype = DType::f32;
};

/// What a query must not look at. Sizes: n examples, l queries, s keys. Undefined ones hide nothing; a query from which
/// everything is hidden gives NaN.
struct AttentionMasks {
  Tensor attention{};   ///< (l, s) or (n * heads, l, s): boolean, true hides; or floating, added to the scores
  Tensor padding{};     ///< (n, s), or (s) without examples: boolean, true hides a key from all queries
  bool causal = false;  ///< hides from query i the keys after i

  template <class Archive>
  void serialize(Archive& ar) {
    ar(attention, padding, causal);
  }
};

/// Which attention weights are returned. Without them the work is that of scaled_dot_product_attention, which never has
/// all of them in memory; results may round differently.
enum class AttentionWeights : std::uint8_t { none, averaged, per_head };

/// What attention gives: values, and their weights if they were asked for.
struct AttentionResult {
  Variable output;   ///< as the query
  Variable weights;  ///< averaged over heads (n, l, s), or per head (n, heads, l, s); undefined if none

  template <class Archive>
  void serialize(Archive& ar) {
    ar(output, weights);
  }
};

/// softmax(q k^T / sqrt(width / heads)) v for each head, where q, k and v are parts of linear projections of query, key
/// and value; the heads' results side by side go through another projection. Parameters: in_proj_weight (3 * width,
/// width) for q, k and v, in_proj_bias, and those of the part out_proj. Source: Vaswani et al., "Attention is all you
/// need", 2017.
///
/// Shapes: query (l, n, width), key and value (s, n, width), or all three without n.
/// Throws ShapeError `[MultiheadAttention] query is not (steps, examples, 8): (4, 2, 6)`, `... key and value do not fit
/// the query (4, 2, 8): (5, 3, 8), (5, 2, 8)`, `... attention mask is (4, 4), not (4, 5) or (6, 4, 5)`,
/// `... padding mask is (2, 4), not (2, 5)`; DTypeError `... padding mask is f32, not boolean`.
/// forward() may run on several threads at once, except while training with dropout: it draws from its own generator.
class MultiheadAttention final : public Module {
 public:
  /// in_proj_weight starts as xavier_uniform(), biases as zeros.
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
