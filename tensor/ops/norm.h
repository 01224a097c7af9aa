// Normalisation: scales values to mean 0 and variance 1, then multiplies by `weight` and adds `bias`. Rules as in
// ops.h. All dtypes are floating; the result has the dtype of `x`; weight, bias and running statistics may have others.
// Undefined weight and bias are 1 and 0. Variances divide by the number of elements.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// The statistics that batch_norm normalises with: those of the batch, as in training, or the running ones.
enum class NormStatistics : std::uint8_t { batch, running };

/// Statistics of batch_norm and their update.
struct BatchNormOptions {
  NormStatistics statistics = NormStatistics::batch;
  double momentum = 0.1;  ///< share of the batch in the new running statistics
  double eps = 1e-5;      ///< added to the variance
};

/// Mean and variance of each channel over many batches, (c) each; both undefined if they are not tracked.
struct RunningStatistics {
  Tensor mean;
  Tensor var;  ///< average of unbiased variances: each divides by the number of elements less 1
};

/// The output, and the f64 mean and variance of each normalised group, saved for backward.
struct NormResult {
  Tensor output;
  Tensor mean;
  Tensor var;
};

/// Gradients of the three inputs. Those of weight and bias have compute_dtype of the dtype of `x`.
struct NormGradients {
  Tensor x;
  Tensor weight;
  Tensor bias;
};

/// The result of batch_norm: output and saved statistics, and the new running statistics.
struct BatchNormResult {
  NormResult norm;
  RunningStatistics running;
};

/// Normalises each channel over all other dimensions. Shapes: x (n, c, ...) with 2 or more dimensions, weight and bias
/// (c). With the statistics of the batch, `running` of the result is (1 - momentum) * running + momentum * statistics
/// of the batch, if `running` is defined. The function writes to no argument, so concurrent calls may share running
/// statistics. The caller replaces its running statistics by the result; of two concurrent replacements one is lost.
/// Throws ShapeError `[batch_norm] fewer than 2 dimensions: (3)`,
/// `[batch_norm] weight does not fit: (4) for 3 channels`, ValueError
/// `[batch_norm] one element per channel has no variance: (1, 3)`, `[batch_norm] there are no running statistics`,
/// DTypeError `[batch_norm] needs a floating dtype: i64`.
[[nodiscard]] BatchNormResult batch_norm(const Tensor& x, const RunningStatistics& running = {},
                                         const Tensor& weight = {}, const Tensor& bias = {},
                                         const BatchNormOptions& options = {});
/// `grad` is the gradient with respect to the output; `forward` is the result of batch_norm with the same options.
[[nodiscard]] NormGradients batch_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                const Tensor& weight = {}, const BatchNormOptions& options = {});

/// Normalises over the last dimensions, whose sizes are `normalized_shape`. Weight and bias have that shape.
/// Throws ShapeError `[layer_norm] last dimensions are not (4): (2, 3)`, `[layer_norm] no dimensions to normalise`,
/// `[layer_norm] weight does not fit: (4) for (3)`.
[[nodiscard]] NormResult layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                                    const Tensor& bias = {}, double eps = 1e-5);
[[nodiscard]] NormGradients layer_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                const Shape& normalized_shape, const Tensor& weight = {},
                                                double eps = 1e-5);

/// Normalises the channels of each example in `groups` groups of consecutive channels. Shapes: x (n, c, ...), weight
/// and bias (c). Throws ShapeError `[group_norm] 6 channels in 4 groups`, and as batch_norm.
[[nodiscard]] NormResult group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {},
                                    const Tensor& bias = {}, double eps = 1e-5);
[[nodiscard]] NormGradients group_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                                std::int64_t groups, const Tensor& weight = {}, double eps = 1e-5);

/// group_norm with one channel per group, for 3 or more dimensions.
/// Throws ShapeError `[instance_norm] fewer than 3 dimensions: (2, 3)`.
[[nodiscard]] NormResult instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                                       double eps = 1e-5);

}  // namespace troupe
