// Products of batches of matrices as calls of a column-major library, such as cuBLAS. Includes no CUDA header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/kernels/walk.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

/// The matrices of a batch, `stride` elements apart. The columns of each are contiguous and `leading` elements apart.
struct GemmOperand {
  Place data;
  bool transposed = false;
  std::int64_t leading = 0;
  std::int64_t stride = 0;
};

/// out (rows, columns) = left (rows, inner) times right (inner, columns), `batch` times, all column-major. So for our
/// row-major matrices x times y, left is y and right is x.
struct GemmCall {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  std::int64_t batch = 0;
  GemmOperand left;
  GemmOperand right;
  GemmOperand out;
};

/// Returns the library's view of a matrix with a gemm layout (kernels::is_gemm_layout).
inline GemmOperand gemm_operand(const Place& data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                std::int64_t col_stride, std::int64_t stride) {
  const bool plain = (col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1);
  if (plain) return {data, false, rows == 1 ? cols : row_stride, stride};
  return {data, true, col_stride, stride};
}

/// Calls f(GemmCall) until out (..., m, n) = x (..., m, k) times y (..., k, n) is complete. REQUIRES: batch shapes are
/// equal and not empty; `out` is contiguous; the matrices of `x` and `y` have a gemm layout.
template <class F>
void for_each_gemm(Tensor& out, const Tensor& x, const Tensor& y, const F& f) {
  const int r = out.dim() - 2;
  Shape batch;
  Strides so;
  Strides sx;
  Strides sy;
  for (int i = 0; i < r; ++i) {
    batch.push_back(out.shape()[i]);
    so.push_back(out.strides()[i]);
    sx.push_back(x.strides()[i]);
    sy.push_back(y.strides()[i]);
  }
  const auto walk = kernels::make_walk<3>(batch, {&so, &sx, &sy});
  const auto last = static_cast<std::size_t>(walk.rank - 1);
  const auto& step = walk.row_strides();
  const Place to = written(out);
  const Place from_x = read(x);
  const Place from_y = read(y);
  const auto operand = [r](const Tensor& m, const Place& data, std::int64_t stride) {
    return gemm_operand(data, m.shape()[r], m.shape()[r + 1], m.strides()[r], m.strides()[r + 1], stride);
  };
  for (std::int64_t i = 0; i < walk.numel; i += walk.sizes[last]) {
    std::array<std::int64_t, 3> at{};
    std::int64_t rest = i / walk.sizes[last];
    for (std::size_t d = last; d-- > 0; rest /= walk.sizes[d]) {
      for (std::size_t n = 0; n < 3; ++n) at[n] += rest % walk.sizes[d] * walk.strides[d][n];
    }
    GemmCall call;
    call.rows = out.shape()[r + 1];
    call.columns = out.shape()[r];
    call.inner = x.shape()[r + 1];
    call.batch = walk.sizes[last];
    call.left = operand(y, from_y.from(at[2]), step[2]);
    call.right = operand(x, from_x.from(at[1]), step[1]);
    call.out = {to.from(at[0]), false, call.rows, step[0]};
    f(call);
  }
}

}  // namespace troupe::cuda
