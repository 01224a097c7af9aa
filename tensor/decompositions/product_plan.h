// Arguments with which other operations implement ops/products.h and ops/distance.h, for tensors and for variables.
#pragma once

#include <string>

#include "tensor/dims.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// Returns the einsum equation of tensordot. Throws as tensordot.
[[nodiscard]] std::string tensordot_equation(const Shape& a, const Shape& b, const Axes& a_axes, const Axes& b_axes);
[[nodiscard]] std::string tensordot_equation(const Shape& a, const Shape& b, int count);

/// The shapes of `a` and `b` whose elementwise product is their Kronecker product, and the shape of the result.
struct KronShapes {
  Shape a;
  Shape b;
  Shape result;
};
[[nodiscard]] KronShapes kron_shapes(const Shape& a, const Shape& b);

/// Returns `dim` of cross, counted from the end. Throws as cross.
[[nodiscard]] int cross_dim(const Shape& a, const Shape& b, int dim);

/// Throws as cdist of tensors of these shapes.
void require_rows(const Shape& a, const Shape& b, double p);

/// Returns whether cdist for p = 2 computes differences, which is exact, and not products.
/// REQUIRES: the shapes pass require_rows().
[[nodiscard]] bool has_few_rows(const Shape& a, const Shape& b);

/// Returns the exponent of the norm of differences of rows of `a`: `p`, or 1 if `p` is infinite and the rows have no
/// elements, where all distances are 0 but the norm for infinite `p` throws.
[[nodiscard]] double difference_exponent(const Shape& a, double p);

}  // namespace troupe::detail
