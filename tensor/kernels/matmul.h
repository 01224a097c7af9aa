// Products of batches of matrices.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Whether rows have no gaps and no element is repeated.
[[nodiscard]] constexpr bool has_plain_rows(std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                            std::int64_t col_stride) noexcept {
  return (col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1);
}

/// Whether kernels can read a matrix of this layout where it is: its rows or its columns are plain.
[[nodiscard]] constexpr bool is_gemm_layout(std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                            std::int64_t col_stride) noexcept {
  return has_plain_rows(rows, cols, row_stride, col_stride) || has_plain_rows(cols, rows, col_stride, row_stride);
}

/// What a device implements for matrix products.
struct MatmulKernels {
  /// out (..., m, n) = x (..., m, k) times y (..., k, n), all of the same batch and dtype, f32, f64, i32 or i64, no
  /// size 0. `out` is contiguous; the matrices of floating `x` and `y` have a gemm layout. Integers wrap around. On the
  /// CPU many products go to the math threads one by one; a few large ones use all threads each.
  ///
  /// GPUs use cuBLAS, which is loaded when the first product is asked for. They take f32 and f64, and `x` and `y` of
  /// f16 or bf16 with an `out` of f32. Sums run in the dtype of `out`: no TF32, and nothing is rounded to 16 bits on
  /// the way. Throws DeviceError `[matmul] libcublas.so.13: cannot open shared object file: No such file or directory`.
  void (*matmul)(Tensor& out, const Tensor& x, const Tensor& y);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::MatmulKernels matmul_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::MatmulKernels matmul_kernels;
}  // namespace troupe::cuda
