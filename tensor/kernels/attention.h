// Attention of matrices: the scores of a block of queries at a time, so that they are never all there at once.
//
// For the CPU alone: tensors of GPUs are refused where their bytes are asked for (Tensor::bytes).
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

/// Which weights are left out: element i of all (..., l, s) if word i mod 4 of block i / 4 from `start` on is below
/// `limit`.
struct WeightDropout {
  Generator start;
  std::uint64_t limit;
  double kept;  ///< what the others are multiplied by
};

/// What happens to the products of queries and keys on the way to weights.
struct AttentionScores {
  double scale;
  bool causal;  ///< query i has the keys up to i alone
  Tensor mask;  ///< undefined, or (..., l, s) whose rows have no gaps: boolean, false hides; or of the dtype, added
  std::optional<WeightDropout> dropout;
};

// All tensors are of one dtype, f32 or f64, and of the same batch (...); no size is 0; the matrices of those that are
// read have a gemm layout (matmul.h), those that are written are contiguous.

struct AttentionForward {
  Tensor query, key, value;  ///< what attention() was given
  Tensor output, logsumexp;  ///< and what it made
};

/// Contiguous and zeros before; undefined: not asked for.
struct AttentionGradients {
  Tensor query, key, value;  ///< of the shapes of what attention() was given
  Tensor mask;               ///< of a shape that broadcasts to the scores (..., l, s)
};

/// What a device implements for scaled dot-product attention.
struct AttentionKernels {
  /// out (..., l, v) = softmax(scores) value, and logsumexp (..., l) of the scores. Shapes: query (..., l, e), key
  /// (..., s, e), value (..., s, v).
  void (*attention)(Tensor& out, Tensor& logsumexp, const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionScores& scores);

  /// Gradients from `grad` by the output. That of the mask is made in a pass of its own over the scores.
  void (*attention_backward)(AttentionGradients& to, const Tensor& grad, const AttentionForward& forward,
                             const AttentionScores& scores);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::AttentionKernels attention_kernels;
}  // namespace troupe::cpu
