// What operations of ops/products.h and ops/distance.h are on tensors and on variables alike: other operations, with these
// arguments.
#pragma once

#include <string>

#include "tensor/dims.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// The einsum that tensordot is. Throws as tensordot.
[[nodiscard]] std::string tensordot_equation(const Shape& a, const Shape& b, const Axes& a_axes, const Axes& b_axes);
[[nodiscard]] std::string tensordot_equation(const Shape& a, const Shape& b, int count);

/// Shapes in which the product by elements is that of kron, and the shape of its result.
struct KronShapes {
  Shape a;
  Shape b;
  Shape result;
};
[[nodiscard]] KronShapes kron_shapes(const Shape& a, const Shape& b);

/// `dim` of cross, counted from the end. Throws as cross.
[[nodiscard]] int cross_dim(const Shape& a, const Shape& b, int dim);

/// Throws what cdist of tensors of these shapes throws.
void require_rows(const Shape& a, const Shape& b, double p);

}  // namespace troupe::detail
