// Operations of neural networks on variables, with convolutions and pools. Names, shapes, dtypes and errors are those of
// tensor/ops_nn.h.
#pragma once

#include "autograd/ops_conv.h"
#include "autograd/ops_pool.h"
#include "autograd/variable.h"
#include "tensor/generator.h"
#include "tensor/ops_nn.h"

namespace troupe {

/// x times the transpose of weight, plus bias: one operation, so that the gradient of `weight` needs no transposition.
/// Shapes: x (..., in), weight (out, in), bias (out) or undefined -> (..., out).
/// Throws ShapeError `[linear] sizes differ: x (8, 4), weight (3, 5)`.
[[nodiscard]] Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});

[[nodiscard]] Variable softmax(const Variable& x, int dim = -1);
[[nodiscard]] Variable log_softmax(const Variable& x, int dim = -1);

/// Zeroes each element with `probability` and scales the others by 1 / (1 - probability).
[[nodiscard]] Variable dropout(const Variable& x, double probability, Generator& generator);

// Losses

[[nodiscard]] Variable nll_loss(const Variable& log_probs, const Tensor& target, Reduction reduction = Reduction::mean);
/// nll_loss of log_softmax: what to minimise for `logits` (n, classes) whose right classes are `target` (n).
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& target,
                                     Reduction reduction = Reduction::mean);
/// Squared differences, of every element, summed or averaged. Same shapes.
/// Throws ShapeError `[mse_loss] shapes differ: (2) and (3)`.
[[nodiscard]] Variable mse_loss(const Variable& x, const Variable& y, Reduction reduction = Reduction::mean);

}  // namespace troupe
