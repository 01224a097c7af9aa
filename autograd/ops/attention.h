// Attention on variables. Names, shapes, dtypes and errors are those of tensor/ops/attention.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/attention.h"

namespace troupe {

/// The mask of the options is a constant.
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const ScaledDotProductOptions& options = {});
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const ScaledDotProductOptions& options, Generator& generator);

/// As above with a variable as mask, for example a learned bias of the scores. A floating point mask has a gradient, of
/// its own shape.
/// Throws ValueError `[scaled_dot_product_attention] two masks` if the options have one as well.
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const Variable& mask, const ScaledDotProductOptions& options = {});
[[nodiscard]] Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value,
                                                    const Variable& mask, const ScaledDotProductOptions& options,
                                                    Generator& generator);

}  // namespace troupe
