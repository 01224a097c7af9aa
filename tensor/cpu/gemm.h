// Matrix products by OpenBLAS and oneDNN.
#pragma once

#include <cstdint>

namespace troupe::cpu {

/// A matrix in memory that it does not own. Strides are in elements.
template <class T>
struct MatrixRef {
  T* data;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_stride;
  std::int64_t col_stride;
};

template <class T>
[[nodiscard]] MatrixRef<T> transposed(const MatrixRef<T>& m) {
  return {m.data, m.cols, m.rows, m.col_stride, m.row_stride};
}

/// As many multiplications cost as much as one element of other loops.
inline constexpr std::int64_t kMultiplicationsPerElement = 16;

/// c = a * b. REQUIRES: `c` has contiguous rows, `a` and `b` a gemm layout; the sizes fit and none is 0. Large f32
/// products run on the math threads of the calling thread (oneDNN), all others on one thread (OpenBLAS), but f32
/// products with a long vector on all. The sums of f32 products run in f32, long ones in parts, which f64 adds for a
/// vector.
void gemm(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b);
void gemm(const MatrixRef<double>& c, const MatrixRef<const double>& a, const MatrixRef<const double>& b);

/// c += a * b; otherwise as gemm().
void gemm_add(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b);
void gemm_add(const MatrixRef<double>& c, const MatrixRef<const double>& a, const MatrixRef<const double>& b);

}  // namespace troupe::cpu
