// Pooling, with the pieces its gradient needs. Rules as in ops.h; dtypes are floating.
#pragma once

#include "tensor/size2d.h"
#include "tensor/tensor.h"

namespace troupe {

/// The window of a pooling and how it moves, in elements.
struct Pool2dOptions {
  Size2d kernel{2, 2};
  Size2d stride{2, 2};
  Size2d padding{0, 0};  ///< never chosen as the largest; at most half the kernel
  friend bool operator==(const Pool2dOptions&, const Pool2dOptions&) = default;
};

/// `where_max` says which element of each window was the largest: opaque, for max_pool2d_backward only.
struct MaxPool2dResult {
  Tensor output;
  Tensor where_max;
};

/// Largest element of each window. Shapes: (n, c, h, w) -> (n, c, oh, ow), sizes as for conv2d without dilation.
[[nodiscard]] MaxPool2dResult max_pool2d(const Tensor& x, const Pool2dOptions& options = {});
[[nodiscard]] Tensor max_pool2d_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                                         const Pool2dOptions& options = {});

}  // namespace troupe
