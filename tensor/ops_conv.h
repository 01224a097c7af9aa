// Convolutions, each with the pieces its gradient needs. Rules as in ops.h; dtypes are floating.
#pragma once

#include "tensor/size2d.h"
#include "tensor/tensor.h"

namespace troupe {

/// How filters move over an image, in elements.
struct Conv2dOptions {
  Size2d stride{1, 1};
  Size2d padding{0, 0};  ///< zeros added on each side
  Size2d dilation{1, 1};
  friend bool operator==(const Conv2dOptions&, const Conv2dOptions&) = default;
};

/// Cross-correlation of images with filters.
/// Shapes: x (n, c, h, w), weight (o, c, kh, kw), bias (o) or undefined -> (n, o, oh, ow) with
/// oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded down.
/// Throws ShapeError `[conv2d] channels differ: (1, 3, 8, 8) and weight (4, 2, 3, 3)` and the like.
[[nodiscard]] Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            const Conv2dOptions& options = {});
/// Gradients from the gradient by the output. That of the bias is sum(grad, {0, 2, 3}).
[[nodiscard]] Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_shape,
                                           const Conv2dOptions& options = {});
[[nodiscard]] Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& x, const Shape& weight_shape,
                                            const Conv2dOptions& options = {});

}  // namespace troupe
