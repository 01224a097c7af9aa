// Operations of neural networks on variables, with convolutions, pools and losses. Names, shapes, dtypes and errors are those of
// tensor/ops_nn.h.
#pragma once

#include "autograd/ops_conv.h"
#include "autograd/ops_loss.h"
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
[[nodiscard]] Variable cosine_similarity(const Variable& a, const Variable& b, int dim = 1, double eps = 1e-8);

[[nodiscard]] Variable dropout(const Variable& x, double probability, Generator& generator);

}  // namespace troupe
