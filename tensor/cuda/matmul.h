// Matrix products of GPUs, by cuBLAS, which is loaded when the first is asked for.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// out (..., m, n) = x (..., m, k) times y (..., k, n), all of the same batch, no size 0. `out` is contiguous, f32 or f64; the
/// matrices of `x` and `y` have a gemm layout (cpu::is_gemm_layout) and the dtype of `out`, or both f16 or bf16 with an `out` of f32. Sums run
/// in the dtype of `out`: no TF32, and nothing is rounded to 16 bits on the way.
/// Throws DeviceError `[matmul] libcublas.so.13: cannot open shared object file: No such file or directory`.
void matmul(Tensor& out, const Tensor& x, const Tensor& y);

}  // namespace troupe::cuda
