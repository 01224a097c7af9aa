// Pooling kernels. All tensors are contiguous, of one dtype (f32 or f64), not empty; the windows fit.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::cpu {

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

/// The sizes that a kernel runs over: images of single channels, which it takes one after the other.
struct PoolPlanes {
  PoolPlanes(const Tensor& in, const Tensor& out)
      : count(in.size(0) * in.size(1)),
        height(in.size(2)),
        width(in.size(3)),
        rows(out.size(2)),
        columns(out.size(3)) {}
  std::int64_t count, height, width, rows, columns;

  [[nodiscard]] std::int64_t in_size() const { return height * width; }
  [[nodiscard]] std::int64_t out_size() const { return rows * columns; }
};

/// Fills y (n, c, rows, columns) with the largest of each window of x (n, c, h, w), and `where_max` (i32) with its
/// offset in the image.
void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);
/// Adds each element of dy to that of dx (zeros so far) which `where_max` names. Every offset is one of an image.
void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max);

/// Fills y with the mean of each window; the steps are 1. Windows are summed in f64.
void avg_pool(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns);
/// Adds to dx, zeros so far.
void avg_pool_backward(Tensor& dx, const Tensor& dy, const PoolWindows& rows, const PoolWindows& columns);

}  // namespace troupe::cpu
