// Pooling kernels. All tensors are contiguous, of one dtype (f32 or f64), not empty; the windows fit.
//
// On a GPU what is not integer may also be f16 or bf16, computed in f32 and rounded once. Images there have fewer than
// 2^31 elements: else the kernels throw ShapeError `[pooling] 2^31 elements or more in an image: (1, 1, 65536, 65536)`.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Where the windows lie along one dimension: window i has positions begin[i], begin[i] + step, ... below end[i].
struct PoolWindows {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> counted;  ///< by how much a mean divides
  std::int64_t step = 1;
  /// Windows of `kernel` positions at a distance of `stride`, the first at `first`, of which begin and end leave out
  /// what is not in the image. A stride of 0: they are not regular.
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t kernel = 0;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(begin.size()); }
};

/// What a device implements for max pooling.
struct MaxPoolKernels {
  /// Fills y (n, c, rows, columns) with the largest of each window of x (n, c, h, w), and `where_max` (i32) with its
  /// offset in the image.
  void (*max_pool)(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);

  /// Adds each element of dy to that of dx (zeros so far) which `where_max` names. Every offset is one of an image.
  void (*max_pool_backward)(Tensor& dx, const Tensor& dy, const Tensor& where_max);

  /// The same of a result of these windows: every element of dx is written, whatever it was. A GPU need not sort for
  /// it, and takes f16 and bf16.
  void (*max_pool_backward_of_windows)(Tensor& dx, const Tensor& dy, const Tensor& where_max, const PoolWindows& rows,
                                       const PoolWindows& columns);
};

/// What a device implements for average pooling.
struct AvgPoolKernels {
  /// Fills y with the mean of each window; the steps are 1. Windows are summed in f64.
  void (*avg_pool)(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);

  /// Adds to dx, zeros so far. A GPU writes every element.
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
