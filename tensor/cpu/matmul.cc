#include "tensor/cpu/matmul.h"

#include <array>
#include <cstdint>
#include <span>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/loops.h"

namespace troupe::cpu {
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

}  // namespace

void matmul(Tensor& out, const Tensor& x, const Tensor& y) {
  const Strides so = without_matrix(out.strides());
  const Strides sx = without_matrix(x.strides());
  const Strides sy = without_matrix(y.strides());
  const auto walk = make_walk<3>(without_matrix(out.shape()), {&so, &sx, &sy});
  dispatch_floating("matmul", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from_x = elements<T>(x);
    const T* const from_y = elements<T>(y);
    const auto& step = walk.row_strides();
    walk_range(walk, 0, walk.numel, [&](const std::array<std::int64_t, 3>& at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        gemm(matrix(out, to + at[0] + i * step[0]), matrix(x, from_x + at[1] + i * step[1]), matrix(y, from_y + at[2] + i * step[2]));
      }
    });
  });
}

}  // namespace troupe::cpu
