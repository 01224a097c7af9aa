// Attention: values weighted by how well their keys answer a query, with the pieces its gradient needs. Rules as in
// ops.h; dtypes are promoted over query, key and value, integers become f32.
#pragma once

#include <optional>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// Which keys a query sees, and what happens to their scores and weights.
struct ScaledDotProductOptions {
  /// Broadcast to the scores (..., l, s): boolean, true shows a key to a query and false hides it; or floating, added.
  Tensor mask{};
  bool causal = false;            ///< also hides from query i the keys after i
  double dropout = 0.0;           ///< the share of the weights that are zeroed; the others grow by 1 / (1 - dropout)
  std::optional<double> scale{};  ///< of the scores; 1 / sqrt(e) if there is none
};

/// softmax(scale query key^T + mask) value. Never has all scores in memory: it takes some queries at a time,
/// but for GPUs.
/// Shapes: query (..., l, e), key (..., s, e), value (..., s, v) -> (..., l, v); leading dimensions broadcast. A query
/// from which every key is hidden gives NaN, as does softmax; without keys the result is 0. Dropout takes from
/// `generator` what dropout_mask of the weights (..., l, s) takes. Source:
/// torch.nn.functional.scaled_dot_product_attention, which takes boolean masks in this sense as well. Throws ShapeError
/// `[scaled_dot_product_attention] fewer than 2 dimensions: query (3), key (4, 3), value (4, 3)`,
/// `... sizes differ: query (2, 8), key (5, 6), value (5, 6)`, `... nothing to compare: query (2, 0), key (5, 0)`,
/// `... mask is (4, 4), nothing that broadcasts to (2, 5)`, DTypeError `... mask is i64, not boolean or floating`,
/// ValueError `... dropout outside [0, 1): 1` and, without a generator, `... dropout draws, and there is no generator`.
[[nodiscard]] Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const ScaledDotProductOptions& options = {});
[[nodiscard]] Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const ScaledDotProductOptions& options, Generator& generator);

/// The result, and what its gradient needs.
struct ScaledDotProductResult {
  Tensor output;
  Tensor logsumexp;                  ///< of each query's scores, (..., l)
  std::optional<Generator> draws{};  ///< the generator before it drew, if there is dropout
};

/// Which gradients are to be made.
struct ScaledDotProductWanted {
  bool query = true;
  bool key = true;
  bool value = true;
  bool mask = false;  ///< of a floating one
};

/// Gradients of the shapes and dtypes of what they belong to; undefined where none was wanted.
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
/// From the gradient by the output; `forward` is the result for the same arguments. Throws DTypeError
/// `[scaled_dot_product_attention_backward] no gradient of a mask that is boolean`.
[[nodiscard]] ScaledDotProductGradients scaled_dot_product_attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const ScaledDotProductResult& forward, const ScaledDotProductOptions& options,
    const ScaledDotProductWanted& wanted = {});

}  // namespace troupe
