// Attention on variables. Names, shapes, dtypes and errors are those of tensor/ops_attention.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops_attention.h"

namespace troupe {

/// The mask is a constant: scores whose summand is learned are made of matmul, softmax and matmul.
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const ScaledDotProductOptions& options = {});
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const ScaledDotProductOptions& options, Generator& generator);

}  // namespace troupe
