// Neural network operations on variables; includes convolutions, pools and losses. Names, shapes, dtypes and errors are
// those of tensor/ops/nn.h.
#pragma once

#include "autograd/ops/conv.h"
#include "autograd/ops/image.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/margin_loss.h"
#include "autograd/ops/pool.h"
#include "autograd/variable.h"
#include "tensor/generator.h"
#include "tensor/ops/nn.h"

namespace troupe {

/// Returns x matmul transpose(weight) + bias. One operation, so that the gradient of `weight` needs no transposition.
/// Shapes: x (..., in), weight (out, in), bias (out) or undefined -> (..., out). The bias may have any shape that
/// broadcasts to the result.
/// Throws ShapeError `[linear] sizes differ: x (8, 4), weight (3, 5)`, `[linear] bias does not fit: (2, 4) for (1, 4)`.
[[nodiscard]] Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});

[[nodiscard]] Variable softmax(const Variable& x, int dim = -1);
[[nodiscard]] Variable log_softmax(const Variable& x, int dim = -1);

[[nodiscard]] Variable softmin(const Variable& x, int dim = -1);

[[nodiscard]] Variable cosine_similarity(const Variable& a, const Variable& b, int dim = 1, double eps = 1e-8);

/// `bias` may be undefined.
[[nodiscard]] Variable bilinear(const Variable& a, const Variable& b, const Variable& weight,
                                const Variable& bias = {});
[[nodiscard]] Variable local_response_norm(const Variable& x, std::int64_t size, double alpha = 1e-4,
                                           double beta = 0.75, double k = 1.0);

[[nodiscard]] Variable pairwise_distance(const Variable& a, const Variable& b, double p = 2.0, double eps = 1e-6,
                                         KeepDim keep = KeepDim::no);
/// A vector whose norm is below eps gets no gradient through the norm.
[[nodiscard]] Variable normalize(const Variable& x, double p = 2.0, int dim = 1, double eps = 1e-12);

/// Zeroes each element with `probability` and multiplies the others by 1 / (1 - probability).
[[nodiscard]] Variable dropout(const Variable& x, double probability, Generator& generator);
/// As dropout for whole channels. Shapes: (n, channels, length) or (channels, length); (n, channels, h, w).
/// Source: Tompson et al., "Efficient object localization using convolutional networks", 2015.
/// Throws ShapeError `[dropout1d] not (n, channels, length): (2)`, `[dropout2d] not (n, channels, h, w): (2, 3)`.
[[nodiscard]] Variable dropout1d(const Variable& x, double probability, Generator& generator);
[[nodiscard]] Variable dropout2d(const Variable& x, double probability, Generator& generator);

}  // namespace troupe
