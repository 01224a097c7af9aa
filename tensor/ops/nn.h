// Operations of neural networks and their backward functions. Rules as in ops.h; dtypes are floating. Includes the
// headers of convolution, pooling and losses.
#pragma once

#include <cstdint>

#include "tensor/dims.h"
#include "tensor/generator.h"
#include "tensor/ops/conv.h"
#include "tensor/ops/image.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/margin_loss.h"
#include "tensor/ops/pool.h"
#include "tensor/tensor.h"

namespace troupe {

/// exp(x) / sum(exp(x)) along `dim`, without overflow; and its logarithm.
[[nodiscard]] Tensor softmax(const Tensor& x, int dim = -1);
[[nodiscard]] Tensor log_softmax(const Tensor& x, int dim = -1);
/// softmax(-x)
[[nodiscard]] Tensor softmin(const Tensor& x, int dim = -1);
/// Gradients with respect to the input, from the gradient with respect to the output and the saved output.
[[nodiscard]] Tensor softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);
[[nodiscard]] Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);

/// sum(a * b) / (|a| |b|) along `dim`, each norm at least `eps`. Broadcasts.
[[nodiscard]] Tensor cosine_similarity(const Tensor& a, const Tensor& b, int dim = 1, double eps = 1e-8);

/// The p-norm of a - b + eps along the last dimension. Broadcasts.
/// Throws ShapeError `[pairwise_distance] shapes do not broadcast: (2) and (3)`, `... no dimension to sum over`.
[[nodiscard]] Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2.0, double eps = 1e-6,
                                       KeepDim keep = KeepDim::no);

/// x divided by max(|x|, eps), where |x| is the p-norm along `dim`.
[[nodiscard]] Tensor normalize(const Tensor& x, double p = 2.0, int dim = 1, double eps = 1e-12);

/// y[o] = sum over i and j of a[i] weight[o, i, j] b[j], plus bias[o], for each row.
/// Shapes: a (..., i), b (..., j), weight (o, i, j), bias (o) or undefined -> (..., o).
/// Throws ShapeError `[bilinear] sizes differ: (2, 3) and (2, 4), weight (5, 3, 5)`.
[[nodiscard]] Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias = {});

/// x / (k + alpha m)^beta, where m is the mean square of the `size` channels around that of x. Channels outside are 0.
/// Shapes: (n, channels, ...). Source: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep
/// convolutional neural networks", 2012. Throws ShapeError `[local_response_norm] not (n, channels, ...): (2, 3)`,
/// ValueError `[local_response_norm] size below 1: 0`.
[[nodiscard]] Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75,
                                         double k = 1.0);

/// Returns a mask of 0 (with `probability`) and 1 / (1 - probability). Multiplying by it is dropout.
/// Throws ValueError `[dropout_mask] probability outside [0, 1): 1.5`.
[[nodiscard]] Tensor dropout_mask(const Shape& shape, double probability, Generator& generator,
                                  DType dtype = DType::f32, Device device = Device::cpu());

}  // namespace troupe
