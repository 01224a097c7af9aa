// What all convolutions are cases of: checks, forward and gradients. For the tensor forms and the variable forms.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/ops/conv.h"

namespace troupe::detail {

/// A convolution of lines or images, or its transpose.
struct Convolution {
  enum class Direction : std::uint8_t { forward, transposed };

  explicit Convolution(const Conv1dOptions& options);
  explicit Convolution(const Conv2dOptions& options);
  explicit Convolution(const ConvTranspose1dOptions& options);
  explicit Convolution(const ConvTranspose2dOptions& options);

  std::string_view name;  ///< "conv2d"
  Direction direction;
  int dims;               ///< 1 for lines, 2 for images
  Conv2dOptions options;  ///< of a line, what concerns the height is that of one row
  Size2d output_padding{0, 0};
};

/// A convolution whose padding is amounts, and what pad() adds around the image before, where its two sides are to differ.
struct FittedConvolution {
  Convolution convolution;
  std::vector<std::int64_t> extra;
};

/// What kSame means for filters of this shape. Throws as the operation says.
[[nodiscard]] FittedConvolution fitted(const Convolution& convolution, const Shape& weight);

/// The result of a convolution whose padding is amounts; throws as the operation says.
[[nodiscard]] Tensor convolve(const Convolution& convolution, const Tensor& x, const Tensor& weight,
                              const Tensor& bias);

/// Shapes and values that gradients are made of.
struct ConvolutionOperands {
  Shape x_shape;
  Shape weight_shape;
  Tensor x;       ///< undefined if the gradient by the weight is not wanted
  Tensor weight;  ///< undefined if the gradient by x is not wanted
};

/// Undefined if not wanted. That of the bias is the sum over all dimensions but the second.
struct ConvolutionGradients {
  Tensor x;
  Tensor weight;
};

/// Gradients from the gradient by the output. `name` is for errors.
[[nodiscard]] ConvolutionGradients convolve_backward(std::string_view name, const Convolution& convolution,
                                                     const Tensor& grad, const ConvolutionOperands& operands);

}  // namespace troupe::detail
