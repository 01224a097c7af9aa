// Products of batches of matrices.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Returns whether the elements of a row are adjacent and no element is repeated.
[[nodiscard]] constexpr bool has_plain_rows(std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                            std::int64_t col_stride) noexcept {
  return (col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1);
}

/// Returns whether kernels can read a matrix of this layout without a copy: its rows or its columns are plain.
[[nodiscard]] constexpr bool is_gemm_layout(std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                            std::int64_t col_stride) noexcept {
  return has_plain_rows(rows, cols, row_stride, col_stride) || has_plain_rows(cols, rows, col_stride, row_stride);
}

/// The matrix product kernels of a device.
struct MatmulKernels {
  /// out (..., m, n) = x (..., m, k) times y (..., k, n). REQUIRES: one batch shape, one dtype (f32, f64, i32 or i64),
  /// no size 0; `out` is contiguous, and the matrices of floating `x` and `y` have a gemm layout. Integers wrap around.
  /// On the CPU each math thread computes some of many products; a few large products use all threads each.
  ///
  /// GPUs use cuBLAS, loaded at the first product. They accept f32 and f64, and `x` and `y` of f16 or bf16 with an
  /// `out` of f32. Sums run in the dtype of `out`: no TF32, and no intermediate result is rounded to 16 bits. Throws
  /// DeviceError `[matmul] libcublas.so.13: cannot open shared object file: No such file or directory`.
  void (*matmul)(Tensor& out, const Tensor& x, const Tensor& y);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::MatmulKernels matmul_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::MatmulKernels matmul_kernels;
}  // namespace troupe::cuda
