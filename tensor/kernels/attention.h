// Scaled dot-product attention. It computes the scores of one block of queries at a time, so that the full score matrix
// never exists.
//
// CPU only: Tensor::bytes throws for tensors on a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

/// Dropout of weights: element i of all (..., l, s) becomes 0 if word i mod 4 of random block i / 4, counted from
/// `start`, is below `limit`.
struct WeightDropout {
  Generator start;
  std::uint64_t limit;
  double kept;  ///< factor of the other weights
};

/// How products of queries and keys become weights.
struct AttentionScores {
  double scale;
  bool causal;  ///< query i uses only keys 0 to i
  Tensor mask;  ///< undefined, or (..., l, s) with contiguous rows: boolean, false hides; or of the dtype, added
  std::optional<WeightDropout> dropout;
};

// REQUIRES: all tensors have one dtype, f32 or f64, and one batch shape (...); no size is 0. Matrices that are read
// have a gemm layout (matmul.h); those that are written are contiguous.

struct AttentionForward {
  Tensor query, key, value;  ///< the arguments of attention()
  Tensor output, sums;       ///< its results
};

/// The gradients to compute. Each is contiguous and holds zeros, or is undefined if not wanted.
struct AttentionGradients {
  Tensor query, key, value;  ///< shapes of the arguments of attention()
  Tensor mask;               ///< a shape that broadcasts to the scores (..., l, s)
};

/// The attention kernels of a device.
struct AttentionKernels {
  /// out (..., l, v) = softmax(scores) value. sums (..., l, 2), for the backward pass: the largest score of each query,
  /// and log(sum(exp(score - largest))). Their sum would not do: beside a large score the logarithm would be rounded
  /// away. Shapes: query (..., l, e), key (..., s, e), value (..., s, v).
  void (*attention)(Tensor& out, Tensor& sums, const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionScores& scores);

  /// Adds to the gradients in `to`. `grad` is the gradient by the output. The gradient by the mask takes a second pass
  /// over the scores.
  void (*attention_backward)(AttentionGradients& to, const Tensor& grad, const AttentionForward& forward,
                             const AttentionScores& scores);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::AttentionKernels attention_kernels;
}  // namespace troupe::cpu
