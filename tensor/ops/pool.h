// Pooling of images and lines and its backward functions. Rules as in ops.h; dtypes are floating.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// The window of max pooling and its steps, in elements.
struct MaxPool2dOptions {
  Size2d kernel{2, 2};
  Size2d stride = kernel;
  Size2d padding{0, 0};  ///< never the maximum; at most half the kernel
  Size2d dilation{1, 1};
  bool ceil_mode = false;  ///< whether a last window may reach beyond the padding
  friend bool operator==(const MaxPool2dOptions&, const MaxPool2dOptions&) = default;
};

/// As MaxPool2dOptions, along a line.
struct MaxPool1dOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = kernel;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  bool ceil_mode = false;
  friend bool operator==(const MaxPool1dOptions&, const MaxPool1dOptions&) = default;
};

/// `where_max` (i32) is the row-major index of each maximum in its image or line; of equal maxima, the first.
struct MaxPoolResult {
  Tensor output;
  Tensor where_max;
};

/// Returns the maximum of each window; NaN if the window has one.
/// Shapes: (n, c, h, w) -> (n, c, oh, ow), sizes as for conv2d. With ceil_mode they are rounded up, but no window
/// begins in the padding at the far side. Throws ValueError
/// `[max_pool2d] padding above half the kernel: (2, 0) of (2, 2)`,
/// `[max_pool2d] a window is in the padding alone: (2, 2) with dilation (3, 3) over (1, 1, 2, 2)` and the like.
[[nodiscard]] MaxPoolResult max_pool2d(const Tensor& x, const MaxPool2dOptions& options = {});
/// Shapes: (n, c, l) -> (n, c, ol).
[[nodiscard]] MaxPoolResult max_pool1d(const Tensor& x, const MaxPool1dOptions& options = {});

/// max_pool2d with `size` windows that cover the image: window i of n is from floor(i h / n) to ceil((i + 1) h / n).
/// Neighbouring windows may overlap. Throws ValueError `[adaptive_max_pool2d] size below 1: (0, 2)`.
[[nodiscard]] MaxPoolResult adaptive_max_pool2d(const Tensor& x, const Size2d& size);

/// The gradient with respect to the input of any max pooling, from the gradient with respect to its output.
/// Throws ShapeError `[max_pool_backward] where_max does not fit: f32 (1) for (1, 1, 2, 2)`.
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape);
/// As above for max_pool2d or max_pool1d with `options`. On a GPU this skips the check of `where_max`: an index outside
/// its window is ignored.
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                                       const MaxPool2dOptions& options);
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                                       const MaxPool1dOptions& options);

/// The window of average pooling and its steps, in elements.
struct AvgPool2dOptions {
  Size2d kernel{2, 2};
  Size2d stride = kernel;
  Size2d padding{0, 0};  ///< zeros; at most half the kernel
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< whether the zeros of the padding count as elements
  friend bool operator==(const AvgPool2dOptions&, const AvgPool2dOptions&) = default;
};

/// As AvgPool2dOptions, along a line.
struct AvgPool1dOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = kernel;
  std::int64_t padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  friend bool operator==(const AvgPool1dOptions&, const AvgPool1dOptions&) = default;
};

/// Returns the mean of each window. Positions beyond the padding never count. Shapes and errors as max_pool2d.
[[nodiscard]] Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options = {});
[[nodiscard]] Tensor avg_pool2d_backward(const Tensor& grad, const Shape& input_shape,
                                         const AvgPool2dOptions& options = {});
[[nodiscard]] Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& options = {});
[[nodiscard]] Tensor avg_pool1d_backward(const Tensor& grad, const Shape& input_shape,
                                         const AvgPool1dOptions& options = {});

/// Returns the mean of each window of adaptive_max_pool2d.
[[nodiscard]] Tensor adaptive_avg_pool2d(const Tensor& x, const Size2d& size);
[[nodiscard]] Tensor adaptive_avg_pool2d_backward(const Tensor& grad, const Shape& input_shape);

/// Returns the options of a square window: `MaxPool2dOptions`, `AvgPool2dOptions`. Without `stride` it is the kernel.
template <class Options>
[[nodiscard]] Options square_window(std::int64_t kernel, std::optional<std::int64_t> stride = {},
                                    std::int64_t padding = 0) {
  Options options;
  options.kernel = kernel;
  options.stride = stride.value_or(kernel);
  options.padding = padding;
  return options;
}

// One number for both sizes: max_pool2d(x, 2), max_pool2d(x, 3, 2, 1).

template <std::integral I>
[[nodiscard]] MaxPoolResult max_pool2d(const Tensor& x, I kernel, std::optional<std::int64_t> stride = {},
                                       std::int64_t padding = 0) {
  return max_pool2d(x, square_window<MaxPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding));
}
template <std::integral I>
[[nodiscard]] Tensor avg_pool2d(const Tensor& x, I kernel, std::optional<std::int64_t> stride = {},
                                std::int64_t padding = 0) {
  return avg_pool2d(x, square_window<AvgPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding));
}
[[nodiscard]] Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size);
[[nodiscard]] Tensor adaptive_avg_pool1d_backward(const Tensor& grad, const Shape& input_shape);

}  // namespace troupe
