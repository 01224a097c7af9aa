// Products of batches of matrices.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cpu {

/// out (..., m, n) = x (..., m, k) times y (..., k, n), all of the same batch and dtype, f32, f64, i32 or i64, no size 0. `out` is contiguous, the
/// matrices of `x` and `y` have a gemm layout (is_gemm_layout) if they are floating. Integers wrap around. Many products go to the math threads one by one, few large ones use all of them each.
void matmul(Tensor& out, const Tensor& x, const Tensor& y);

}  // namespace troupe::cpu
