// Scaled dot product attention, forward and backward. Rules as in ops.h; the dtypes of query, key and value are
// promoted, integers become f32.
#pragma once

#include <optional>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// Masks, dropout and scale of attention.
struct ScaledDotProductOptions {
  /// Broadcasts to the scores (..., l, s). Boolean: false hides a key from a query. Floating: added to the scores.
  Tensor mask{};
  bool causal = false;            ///< also hides the keys after i from query i
  double dropout = 0.0;           ///< probability that a weight becomes 0; the others are divided by 1 - dropout
  std::optional<double> scale{};  ///< factor of the scores; 1 / sqrt(e) by default
};

/// softmax(scale query key^T + mask) value. On the CPU it computes the scores of a block of queries at a time; on a GPU
/// all scores are in memory at once.
/// Shapes: query (..., l, e), key (..., s, e), value (..., s, v) -> (..., l, v); leading dimensions broadcast. A query
/// without visible keys gives NaN, as softmax does; s = 0 gives 0. Dropout draws from `generator` as dropout_mask of
/// the weights (..., l, s) does. Source: torch.nn.functional.scaled_dot_product_attention, whose boolean masks have the
/// same meaning. Throws ShapeError
/// `[scaled_dot_product_attention] fewer than 2 dimensions: query (3), key (4, 3), value (4, 3)`,
/// `... sizes differ: query (2, 8), key (5, 6), value (5, 6)`, `... nothing to compare: query (2, 0), key (5, 0)`,
/// `... mask is (4, 4), nothing that broadcasts to (2, 5)`, DTypeError `... mask is i64, not boolean or floating`,
/// ValueError `... dropout outside [0, 1): 1` and, without a generator, `... dropout draws, and there is no generator`.
[[nodiscard]] Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const ScaledDotProductOptions& options = {});
[[nodiscard]] Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const ScaledDotProductOptions& options, Generator& generator);

/// The output, and the values saved for the backward pass.
struct ScaledDotProductResult {
  Tensor output;
  Tensor sums;                       ///< (..., l, 2): of each query the largest score, log(sum(exp(score - largest)))
  std::optional<Generator> draws{};  ///< state of the generator before the dropout draws; empty without dropout
};

/// Which gradients the backward pass computes.
struct ScaledDotProductWanted {
  bool query = true;
  bool key = true;
  bool value = true;
  bool mask = false;  ///< REQUIRES: a floating mask
};

/// Gradients, each with the shape and dtype of its operand; undefined if not wanted.
struct ScaledDotProductGradients {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor mask;
};

/// `generator` may be null if there is no dropout.
[[nodiscard]] ScaledDotProductResult scaled_dot_product_attention_forward(const Tensor& query, const Tensor& key,
                                                                          const Tensor& value,
                                                                          const ScaledDotProductOptions& options,
                                                                          Generator* generator);
/// `grad` is the gradient with respect to the output; `forward` is the result for the same arguments.
/// Throws DTypeError `[scaled_dot_product_attention_backward] no gradient of a mask that is boolean`.
[[nodiscard]] ScaledDotProductGradients scaled_dot_product_attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const ScaledDotProductResult& forward, const ScaledDotProductOptions& options,
    const ScaledDotProductWanted& wanted = {});

}  // namespace troupe
