// Products of matrices and vectors; rules as in ops.h. Integers stay integers and wrap around.
// Throws DTypeError `[matmul] not defined for boolean`.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// Returns the matrix product of `a` and `b`.
/// Shapes: (..., m, k) x (..., k, n) -> (..., m, n), batch dimensions broadcast. A vector `a` counts as a row, a vector
/// `b` as a column; the result does not have the added dimension.
/// Throws ShapeError `[matmul] inner sizes differ: (8, 4) x (5, 1)` or `[matmul] a scalar has no columns: () x (3)`.
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);

/// matmul of batches of equal size, without broadcasting. Shapes: (b, m, k) x (b, k, n) -> (b, m, n).
/// Throws ShapeError `[bmm] not 3 dimensions: (2, 3)`, `[bmm] batches differ: (2, 3, 4) x (3, 4, 5)`.
[[nodiscard]] Tensor bmm(const Tensor& a, const Tensor& b);

/// beta * input + alpha * (a x b); `input` broadcasts to the product. With beta = 0, NaN in `input` does not propagate.
/// Shapes: (m, k) x (k, n) -> (m, n). Dtype: promoted from all three; for integers alpha and beta are integers.
/// Throws DTypeError `[addmm] not a value of i64: 0.5`, ShapeError `[addmm] not 2 dimensions: (3)`,
/// `[addmm] (3) does not broadcast to (2, 4)`.
[[nodiscard]] Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, double beta = 1.0,
                           double alpha = 1.0);

/// addmm of batches of equal size, without broadcasting. Shapes: (b, m, k) x (b, k, n) -> (b, m, n).
/// Throws ShapeError as addmm and bmm.
[[nodiscard]] Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, double beta = 1.0,
                             double alpha = 1.0);

/// Sum of the products of two vectors of one size: a scalar. Throws ShapeError `[dot] not 1 dimensions: (2, 3)`.
[[nodiscard]] Tensor dot(const Tensor& a, const Tensor& b);

/// Matrix times vector. Shapes: (m, k) x (k) -> (m). Throws ShapeError `[mv] not 2 dimensions: (3)`.
[[nodiscard]] Tensor mv(const Tensor& a, const Tensor& v);

/// All products of an element of `a` and one of `b`; integers stay integers. Shapes: (m), (n) -> (m, n).
/// Throws ShapeError `[outer] not 1 dimensions: (2, 3)`.
[[nodiscard]] Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace troupe
