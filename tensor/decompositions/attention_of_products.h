// Attention composed of matrix products and softmax, with all scores in memory at once. Same contract as
// tensor/kernels/attention.h, but for any device.
#pragma once

#include "tensor/kernels/attention.h"
#include "tensor/tensor.h"

namespace troupe::detail {

void attention_of_products(Tensor& out, Tensor& sums, const Tensor& query, const Tensor& key, const Tensor& value,
                           const kernels::AttentionScores& how);

/// Overwrites the gradients, which need not be zeros before.
void attention_of_products_backward(kernels::AttentionGradients& to, const Tensor& grad,
                                    const kernels::AttentionForward& forward, const kernels::AttentionScores& how);

}  // namespace troupe::detail
