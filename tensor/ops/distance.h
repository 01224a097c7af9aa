// Distances between all pairs of vectors; rules as in ops.h.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// The p-norm of the difference of every row of `a` and every row of `b`. Integers become f32.
/// Shapes: a (..., m, k), b (..., n, k) -> (..., m, n), batch dimensions broadcast. For k = 0 all distances are 0.
/// For p = 2 and more than 25 rows on either side it computes |a|^2 + |b|^2 - 2 a b, as torch.cdist does. This is
/// inaccurate for rows that are much closer to each other than to the origin.
/// Throws ShapeError `[cdist] not matrices: (3) and (2, 3)`, `[cdist] columns differ: (2, 3) and (2, 4)`, ValueError
/// `[cdist] p not above 0: 0`.
[[nodiscard]] Tensor cdist(const Tensor& a, const Tensor& b, double p = 2.0);

}  // namespace troupe
