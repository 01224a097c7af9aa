// Tensor products of variables, and distances between them. Names, shapes, dtypes and errors are those of
// tensor/ops/products.h and tensor/ops/distance.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/distance.h"
#include "tensor/ops/products.h"

namespace troupe {

/// Composed of other operations, as einsum: the graph has a vertex for each of them.
[[nodiscard]] Variable tensordot(const Variable& a, const Variable& b, const Axes& a_axes, const Axes& b_axes);
[[nodiscard]] Variable tensordot(const Variable& a, const Variable& b, int count = 2);
[[nodiscard]] Variable kron(const Variable& a, const Variable& b);
[[nodiscard]] Variable cross(const Variable& a, const Variable& b, int dim = -1);
/// The gradient is 0 where the distance is 0, and as accurate as the distances. If `p` is infinite, differences that
/// are equally large share it equally; torch gives each of them all of it. Unless `p` is 2, the graph saves the
/// differences of all pairs.
[[nodiscard]] Variable cdist(const Variable& a, const Variable& b, double p = 2.0);

}  // namespace troupe
