// Pooling kernels: oneDNN for f32, plain loops for f64. All tensors are contiguous and not empty; shapes fit.
#pragma once

#include "tensor/ops_pool.h"

namespace troupe::cpu {

/// Fills y (n, c, oh, ow) from x (n, c, h, w) and returns where each window's largest element was: u8 for f32 (oneDNN's
/// own format), i64 offsets into the plane for f64.
[[nodiscard]] Tensor max_pool(Tensor& y, const Tensor& x, const Pool2dOptions& options);

/// `where_max` is the result of max_pool on tensors of the same shapes and dtype.
/// Throws ShapeError if its size shows that it is not.
void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max, const Pool2dOptions& options);

}  // namespace troupe::cpu
