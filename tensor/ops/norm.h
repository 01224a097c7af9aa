// Normalisation: values are brought to mean 0 and variance 1, then multiplied by `weight` and shifted by `bias`. Rules
// as in ops.h. All dtypes are floating, the result has that of `x`; weight, bias and running statistics may have
// others. Undefined weight and bias stand for 1 and 0. Variances are those over the number of elements.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// Whose mean and variance batch_norm takes: those of the batch, as in training, or the running ones.
enum class NormStatistics : std::uint8_t { batch, running };

/// How batch_norm takes and keeps statistics.
struct BatchNormOptions {
  NormStatistics statistics = NormStatistics::batch;
  double momentum = 0.1;  ///< the share of the batch in the new running statistics
  double eps = 1e-5;      ///< added to the variance
};

/// Mean and variance of each channel over many batches, (c) each; both undefined if nobody keeps them.
struct RunningStatistics {
  Tensor mean;
  Tensor var;  ///< what is averaged are variances over the number of elements less 1
};

/// What a normalisation gives, and what its gradient needs: mean and variance, f64, of what was normalised together.
struct NormResult {
  Tensor output;
  Tensor mean;
  Tensor var;
};

/// Gradients by the three inputs. Those of weight and bias have compute_dtype of the dtype of `x`.
struct NormGradients {
  Tensor x;
  Tensor weight;
  Tensor bias;
};

/// What batch_norm computes: its output with what a gradient needs, and the new running statistics.
struct BatchNormResult {
  NormResult norm;
  RunningStatistics running;
};

/// Normalises each channel over all others dimensions. Shapes: x (n, c, ...) with 2 or more dimensions, weight and bias
/// (c). Of the batch: `running` of the result is (1 - momentum) * running + momentum * that of the batch, if there is
/// any. No argument is written to, so any number of forwards may share their running statistics; who keeps them
/// replaces them by the result, and if two do so at once, one batch is not counted. Throws ShapeError `[batch_norm]
/// fewer than 2 dimensions: (3)` or `[batch_norm] weight does not fit: (4) for 3 channels`, ValueError `[batch_norm]
/// one element per channel has no variance: (1, 3)` or
/// `[batch_norm] there are no running statistics`, DTypeError `[batch_norm] needs a floating dtype: i64`.
[[nodiscard]] BatchNormResult batch_norm(const Tensor& x, const RunningStatistics& running = {},
                                         const Tensor& weight = {}, const Tensor& bias = {},
                                         const BatchNormOptions& options = {});
/// Gradients from that by the output; `forward` is the result of batch_norm with the same options.
[[nodiscard]] NormGradients batch_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                const Tensor& weight = {}, const BatchNormOptions& options = {});

/// Normalises over the last dimensions, whose sizes are `normalized_shape`; so have weight and bias.
/// Throws ShapeError `[layer_norm] last dimensions are not (4): (2, 3)`, `[layer_norm] no dimensions to normalise`,
/// `[layer_norm] weight does not fit: (4) for (3)`.
[[nodiscard]] NormResult layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                                    const Tensor& bias = {}, double eps = 1e-5);
[[nodiscard]] NormGradients layer_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                const Shape& normalized_shape, const Tensor& weight = {},
                                                double eps = 1e-5);

/// Normalises the channels of each example in `groups` groups of neighbours. Shapes: x (n, c, ...), weight and bias
/// (c). Throws ShapeError `[group_norm] 6 channels in 4 groups`, and as batch_norm.
[[nodiscard]] NormResult group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {},
                                    const Tensor& bias = {}, double eps = 1e-5);
[[nodiscard]] NormGradients group_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                std::int64_t groups, const Tensor& weight = {}, double eps = 1e-5);

/// group_norm with every channel a group of its own; of 3 or more dimensions.
/// Throws ShapeError `[instance_norm] fewer than 3 dimensions: (2, 3)`.
[[nodiscard]] NormResult instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                                       double eps = 1e-5);

}  // namespace troupe
