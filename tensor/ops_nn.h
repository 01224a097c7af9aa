// Operations of neural networks, each with the pieces its gradient needs; convolution and pooling have headers of their
// own, which this one includes. Rules as in ops.h; dtypes are floating.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/ops_conv.h"
#include "tensor/ops_pool.h"
#include "tensor/tensor.h"

namespace troupe {

/// exp(x) / sum(exp(x)) along `dim`, without overflow; and its logarithm.
[[nodiscard]] Tensor softmax(const Tensor& x, int dim = -1);
[[nodiscard]] Tensor log_softmax(const Tensor& x, int dim = -1);
/// Gradients by the input, from the gradient by the output and the output itself.
[[nodiscard]] Tensor softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);
[[nodiscard]] Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);

/// How a loss per example becomes a result: as it is, summed, or averaged over the examples.
enum class Reduction : std::uint8_t { none, sum, mean };

/// Negative log-likelihood: -log_probs[i, target[i]]. Shapes: (n, classes), target (n) i64 or i32 -> () or (n).
/// Throws ShapeError `[nll_loss] targets do not fit: (8, 10) and (7)`,
/// IndexError `[nll_loss] index out of range: 10 of 10`.
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, Reduction reduction = Reduction::mean);
/// Gradient by log_probs, whose shape is `shape`.
[[nodiscard]] Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const Shape& shape,
                                       Reduction reduction = Reduction::mean);

/// A tensor of zeros (with `probability`) and 1 / (1 - probability): multiply to drop elements out.
/// Throws ValueError `[dropout_mask] probability outside [0, 1): 1.5`.
[[nodiscard]] Tensor dropout_mask(const Shape& shape, double probability, Generator& generator,
                                  DType dtype = DType::f32);

}  // namespace troupe
