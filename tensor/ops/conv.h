// Convolutions and transposed convolutions of images and lines. Rules as in ops.h; operands have one floating dtype.
#pragma once

#include <cstdint>
#include <limits>

#include "tensor/dims.h"
#include "tensor/kernels/convolution.h"
#include "tensor/tensor.h"

namespace troupe {

/// As a padding of conv1d or conv2d: the number of zeros that keeps the size along that dimension. REQUIRES: stride 1
/// there. An odd number puts the extra zero at the far side.
inline constexpr std::int64_t kSame = std::numeric_limits<std::int64_t>::min();

/// Cross-correlation of images with filters.
/// Shapes: x (n, c, h, w), weight (o, c / groups, kh, kw), bias (o) or undefined -> (n, o, oh, ow) with
/// oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded down. With groups = c every channel has its own
/// filters. Throws ShapeError `[conv2d] channels differ: (1, 3, 8, 8) and weight (4, 2, 3, 3)`,
/// `[conv2d] filters do not divide into 3 groups: weight (4, 1, 3, 3)` and the like, ValueError
/// `[conv2d] padding that keeps the size with stride (2, 1)`.
[[nodiscard]] Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            const Conv2dOptions& options = {});
/// Gradients with respect to the input and the weight; `grad` is the gradient with respect to the output. The gradient
/// of the bias is sum(grad, {0, 2, 3}).
[[nodiscard]] Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_shape,
                                           const Conv2dOptions& options = {});
[[nodiscard]] Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& x, const Shape& weight_shape,
                                            const Conv2dOptions& options = {});

/// How filters move along a line.
struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< zeros added on each side, or kSame
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  friend bool operator==(const Conv1dOptions&, const Conv1dOptions&) = default;
};

/// conv2d along one dimension. Shapes: x (n, c, l), weight (o, c / groups, k), bias (o) or undefined -> (n, o, ol).
[[nodiscard]] Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            const Conv1dOptions& options = {});

/// How filters move over the output of a transposed convolution.
struct ConvTranspose2dOptions {
  Size2d stride{1, 1};
  Size2d padding{0, 0};         ///< elements removed from each side of the output
  Size2d output_padding{0, 0};  ///< elements added at the far side; less than the stride or the dilation
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
  friend bool operator==(const ConvTranspose2dOptions&, const ConvTranspose2dOptions&) = default;
};

/// Adds up the filters, placed at each pixel and multiplied by it: the gradient of conv2d with respect to its input. It
/// maps the shape of conv2d's output to that of its input.
/// Shapes: x (n, c, h, w), weight (c, o / groups, kh, kw), bias (o) or undefined -> (n, o, oh, ow) with
/// oh = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.
/// Throws ShapeError `[conv_transpose2d] channels differ: (1, 3, 8, 8) and weight (4, 2, 3, 3)`,
/// `[conv_transpose2d] padding leaves nothing: (0, 2) from (1, 3, 1, 2)`,
/// ValueError `[conv_transpose2d] output padding not below stride or dilation: (2, 0)` and the like.
[[nodiscard]] Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                      const ConvTranspose2dOptions& options = {});

/// As ConvTranspose2dOptions, along a line.
struct ConvTranspose1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  friend bool operator==(const ConvTranspose1dOptions&, const ConvTranspose1dOptions&) = default;
};

/// conv_transpose2d along one dimension.
/// Shapes: x (n, c, l), weight (c, o / groups, k), bias (o) or undefined -> (n, o, ol).
[[nodiscard]] Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                      const ConvTranspose1dOptions& options = {});

}  // namespace troupe
