#include "tensor/kernels/matmul.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/loops.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {

using kernels::make_walk;

namespace {

template <class T>
MatrixRef<T> matrix(const Tensor& x, T* data) {
  const int r = x.dim() - 2;
  return {data, x.shape()[r], x.shape()[r + 1], x.strides()[r], x.strides()[r + 1]};
}

template <class Dims>
Dims without_matrix(const Dims& dims) {
  return Dims(std::span<const std::int64_t>(dims.begin(), static_cast<std::size_t>(dims.size() - 2)));
}

/// c = a * b for integers of any layout. REQUIRES: `c` has contiguous rows.
template <class T>
void multiply(const MatrixRef<T>& c, const MatrixRef<const T>& a, const MatrixRef<const T>& b) {
  const auto times = [](auto p, auto q) { return p * q; };
  for (std::int64_t i = 0; i < c.rows; ++i) {
    T* const row = c.data + i * c.row_stride;
    std::fill_n(row, c.cols, T{0});
    for (std::int64_t k = 0; k < a.cols; ++k) {
      const T factor = a.data[i * a.row_stride + k * a.col_stride];
      const T* const from = b.data + k * b.row_stride;
      for (std::int64_t j = 0; j < c.cols; ++j)
        row[j] = wrapping_sum(row[j], wrapping(factor, from[j * b.col_stride], times));
    }
  }
}
template <std::floating_point T>
void multiply(const MatrixRef<T>& c, const MatrixRef<const T>& a, const MatrixRef<const T>& b) {
  gemm(c, a, b);
}

/// The cost of the call for a product in elements of other loops.
constexpr std::int64_t kElementsOfCall = 32;

/// The most multiplications of a product that one thread computes if there are as many products as threads. Larger
/// products keep all threads of oneDNN busy.
constexpr std::int64_t kMultiplicationsOfOneThread = 1 << 24;

/// Returns whether gemm accepts the sizes and strides. Checked before the loop, because its threads must not throw.
bool is_ordinary(const Tensor& x) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const int r = x.dim() - 2;
  return std::max({x.shape()[r], x.shape()[r + 1], x.strides()[r], x.strides()[r + 1]}) <= kMost;
}

/// Returns whether each product of a batch runs on one thread instead of on all threads.
bool goes_to_threads(const Tensor& x, const Tensor& y, std::int64_t batch, std::int64_t multiplications) {
  if (batch < MathThreads::current() || !is_ordinary(x) || !is_ordinary(y)) return false;
  // Products of f64 (OpenBLAS) and of integers (our loop) always use one thread.
  return x.dtype() != DType::f32 || multiplications <= kMultiplicationsOfOneThread;
}

void matmul(Tensor& out, const Tensor& x, const Tensor& y) {
  const Strides so = without_matrix(out.strides());
  const Strides sx = without_matrix(x.strides());
  const Strides sy = without_matrix(y.strides());
  const auto walk = make_walk<3>(without_matrix(out.shape()), {&so, &sx, &sy});
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from_x = elements<T>(x);
    const T* const from_y = elements<T>(y);
    const auto& step = walk.row_strides();
    const auto multiply_some = [&](const std::array<std::int64_t, 3>& at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        multiply<T>(matrix(out, to + at[0] + i * step[0]), matrix(x, from_x + at[1] + i * step[1]),
                    matrix(y, from_y + at[2] + i * step[2]));
      }
    };
    const std::int64_t multiplications = out.size(-2) * out.size(-1) * x.size(-1);
    if (goes_to_threads(x, y, walk.numel, multiplications)) {
      for_each_row(walk, multiply_some, kElementsOfCall + multiplications / kMultiplicationsPerElement);
    } else {
      walk_range(walk, 0, walk.numel, multiply_some);
    }
  });
}

}  // namespace

const kernels::MatmulKernels matmul_kernels{.matmul = matmul};

}  // namespace troupe::cpu
