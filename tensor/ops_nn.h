// Operations of neural networks, each with the pieces its gradient needs. Rules as in ops.h; dtypes are floating.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// exp(x) / sum(exp(x)) along `dim`, without overflow; and its logarithm.
[[nodiscard]] Tensor softmax(const Tensor& x, int dim = -1);
[[nodiscard]] Tensor log_softmax(const Tensor& x, int dim = -1);
/// Gradients by the input, from the gradient by the output and the output itself.
[[nodiscard]] Tensor softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);
[[nodiscard]] Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int dim = -1);

/// How a loss per example becomes a result: as it is, summed, or averaged over the examples.
enum class Reduction : std::uint8_t { none, sum, mean };

/// Negative log-likelihood: -log_probs[i, target[i]]. Shapes: (n, classes), target (n) i64 or i32 -> () or (n).
/// Throws ShapeError `[nll_loss] targets do not fit: (8, 10) and (7)`,
/// IndexError `[nll_loss] index out of range: 10 of 10`.
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, Reduction reduction = Reduction::mean);
/// Gradient by log_probs, whose shape is `shape`.
[[nodiscard]] Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const Shape& shape,
                                       Reduction reduction = Reduction::mean);

/// A tensor of zeros (with `probability`) and 1 / (1 - probability): multiply to drop elements out.
/// Throws ValueError `[dropout_mask] probability outside [0, 1): 1.5`.
[[nodiscard]] Tensor dropout_mask(const Shape& shape, double probability, Generator& generator,
                                  DType dtype = DType::f32);

/// Height and width.
using Size2d = std::array<std::int64_t, 2>;

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
