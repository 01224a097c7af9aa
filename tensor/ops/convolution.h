// The general convolution behind ops/conv.h and its form in autograd/: checks, forward and backward.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/ops/conv.h"

namespace troupe::detail {

/// Parameters of a convolution or transposed convolution of lines or images.
struct Convolution {
  enum class Direction : std::uint8_t { forward, transposed };

  explicit Convolution(const Conv1dOptions& options);
  explicit Convolution(const Conv2dOptions& options);
  explicit Convolution(const ConvTranspose1dOptions& options);
  explicit Convolution(const ConvTranspose2dOptions& options);

  std::string_view name;  ///< "conv2d"
  Direction direction;
  int dims;               ///< 1 for lines, 2 for images
  Conv2dOptions options;  ///< a line is an image of height 1
  Size2d output_padding{0, 0};
};

/// A convolution without kSame, and the amounts that pad() adds to the input first if the two sides differ.
struct FittedConvolution {
  Convolution convolution;
  std::vector<std::int64_t> extra;
};

/// Replaces kSame for filters of shape `weight`. Throws as the operation.
[[nodiscard]] FittedConvolution fitted(const Convolution& convolution, const Shape& weight);

/// Computes the convolution. REQUIRES: no padding is kSame. Throws as the operation.
[[nodiscard]] Tensor convolve(const Convolution& convolution, const Tensor& x, const Tensor& weight,
                              const Tensor& bias);

/// Saved shapes and tensors of the backward pass.
struct ConvolutionOperands {
  Shape x_shape;
  Shape weight_shape;
  Tensor x;       ///< undefined if the gradient of the weight is not wanted
  Tensor weight;  ///< undefined if the gradient of x is not wanted
};

/// Gradients, undefined if not wanted. That of the bias is the sum of `grad` over all dimensions but the second.
struct ConvolutionGradients {
  Tensor x;
  Tensor weight;
};

/// Computes the gradients from `grad`, the gradient with respect to the output. `name` is the operation in error texts.
[[nodiscard]] ConvolutionGradients convolve_backward(std::string_view name, const Convolution& convolution,
                                                     const Tensor& grad, const ConvolutionOperands& operands);

}  // namespace troupe::detail
