// Pooling kernels. REQUIRES: all tensors are contiguous, of one dtype (f32 or f64) and not empty; the windows fit.
//
// On a GPU floating tensors may also be f16 or bf16, computed in f32 and rounded once. Images on a GPU have fewer than
// 2^31 elements; else the kernels throw ShapeError `[pooling] 2^31 elements or more in an image: (1, 1, 65536, 65536)`.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The windows along one dimension. Window i has the positions begin[i], begin[i] + step, ... below end[i].
struct PoolWindows {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> counted;  ///< divisor of a mean, per window
  std::int64_t step = 1;
  /// If the windows are regular: they have `kernel` positions each, begin `stride` apart, the first at `first`; `begin`
  /// and `end` cut off positions outside the image. A stride of 0 means that they are not regular.
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t kernel = 0;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(begin.size()); }
};

/// The max pooling kernels of a device.
struct MaxPoolKernels {
  /// y (n, c, rows, columns) = the largest element of each window of x (n, c, h, w). `where_max` (i32) = its offset in
  /// the image.
  void (*max_pool)(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);

  /// Adds each element of dy to the element of dx at the offset `where_max`. REQUIRES: dx holds zeros; every offset is
  /// inside the image.
  void (*max_pool_backward)(Tensor& dx, const Tensor& dy, const Tensor& where_max);

  /// The same gradient for a result of the given windows. Writes every element of dx. With known windows a GPU needs no
  /// sort, and accepts f16 and bf16.
  void (*max_pool_backward_of_windows)(Tensor& dx, const Tensor& dy, const Tensor& where_max, const PoolWindows& rows,
                                       const PoolWindows& columns);
};

/// The average pooling kernels of a device.
struct AvgPoolKernels {
  /// y = the mean of each window, summed in f64. REQUIRES: the windows' steps are 1.
  void (*avg_pool)(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);

  /// Adds the gradient by x to dx. REQUIRES: dx holds zeros. A GPU writes every element instead.
  void (*avg_pool_backward)(Tensor& dx, const Tensor& dy, const PoolWindows& rows, const PoolWindows& columns);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::MaxPoolKernels max_pool_kernels;
extern const kernels::AvgPoolKernels avg_pool_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::MaxPoolKernels max_pool_kernels;
extern const kernels::AvgPoolKernels avg_pool_kernels;
}  // namespace troupe::cuda
