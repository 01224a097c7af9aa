// Products over several dimensions, Kronecker and cross products; rules as in ops.h.
#pragma once

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// Sums products over all pairs of dimensions `a_axes[i]` of `a` and `b_axes[i]` of `b`. The result has the other
/// dimensions of `a`, then those of `b`. Without axes it is the outer product. Dtypes as matmul.
/// Throws ShapeError `[tensordot] 2 axes and 1`, `[tensordot] sizes differ: 3 along 1 and 4 along 0`,
/// `[tensordot] dimension given twice: 1`.
[[nodiscard]] Tensor tensordot(const Tensor& a, const Tensor& b, const Axes& a_axes, const Axes& b_axes);
/// tensordot over the last `count` dimensions of `a` and the first `count` of `b`, in order.
/// Throws ShapeError `[tensordot] 3 dimensions of (2, 3) and (4, 5)`.
[[nodiscard]] Tensor tensordot(const Tensor& a, const Tensor& b, int count = 2);

/// Kronecker product: a block for every element of `a`, which is that element times `b`. The shape with fewer
/// dimensions gets leading ones. Integers stay integers. Shapes: (2, 3) x (4, 5) -> (8, 15).
[[nodiscard]] Tensor kron(const Tensor& a, const Tensor& b);

/// Cross product of the vectors of `a` and `b` along `dim`, which has size 3; `a` and `b` broadcast.
/// Source: torch.linalg.cross. Throws ShapeError `[cross] not of size 3 along -1: (2, 4) and (2, 4)`.
[[nodiscard]] Tensor cross(const Tensor& a, const Tensor& b, int dim = -1);

}  // namespace troupe
