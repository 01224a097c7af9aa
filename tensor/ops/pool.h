// Pooling of images and lines, with the pieces its gradient needs. Rules as in ops.h; dtypes are floating.
#pragma once

#include <cstdint>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// The window that a largest element is taken from, and how it moves, in elements.
struct MaxPool2dOptions {
  Size2d kernel{2, 2};
  Size2d stride = kernel;
  Size2d padding{0, 0};  ///< never chosen as the largest; at most half the kernel
  Size2d dilation{1, 1};
  bool ceil_mode = false;  ///< whether a last window that reaches beyond the padding counts
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

/// `where_max` (i32) says which element of its image or line was the largest, counted in row-major order; of equal ones
/// it is the first.
struct MaxPoolResult {
  Tensor output;
  Tensor where_max;
};

/// Largest element of each window; NaN if there is one in it.
/// Shapes: (n, c, h, w) -> (n, c, oh, ow), sizes as for conv2d; with ceil_mode rounded up, but no window begins in the
/// padding behind. Throws ValueError `[max_pool2d] padding above half the kernel: (2, 0) of (2, 2)`,
/// `[max_pool2d] a window is in the padding alone: (2, 2) with dilation (3, 3) over (1, 1, 2, 2)` and the like.
[[nodiscard]] MaxPoolResult max_pool2d(const Tensor& x, const MaxPool2dOptions& options = {});
/// Shapes: (n, c, l) -> (n, c, ol).
[[nodiscard]] MaxPoolResult max_pool1d(const Tensor& x, const MaxPool1dOptions& options = {});

/// As max_pool2d with windows that cover the image in `size` parts: part i of n is from floor(i h / n) to
/// ceil((i + 1) h / n), whose neighbours may overlap. Throws ValueError `[adaptive_max_pool2d] size below 1: (0, 2)`.
[[nodiscard]] MaxPoolResult adaptive_max_pool2d(const Tensor& x, const Size2d& size);

/// Gradient by the input of any of them, from the gradient by the output.
/// Throws ShapeError `[max_pool_backward] where_max does not fit: f32 (1) for (1, 1, 2, 2)`.
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape);
/// The same of a result of max_pool2d or max_pool1d with these options. A GPU then need not look first where `where_max` points to:
/// it leaves out what is not in its window.
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                                       const MaxPool2dOptions& options);
[[nodiscard]] Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                                       const MaxPool1dOptions& options);

/// The window that a mean is taken of.
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

/// Mean of each window; what ceil_mode lets it have beyond the padding never counts. Shapes and errors as of max_pool2d.
[[nodiscard]] Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options = {});
[[nodiscard]] Tensor avg_pool2d_backward(const Tensor& grad, const Shape& input_shape,
                                         const AvgPool2dOptions& options = {});
[[nodiscard]] Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& options = {});
[[nodiscard]] Tensor avg_pool1d_backward(const Tensor& grad, const Shape& input_shape,
                                         const AvgPool1dOptions& options = {});

/// Mean of each of the parts of adaptive_max_pool2d.
[[nodiscard]] Tensor adaptive_avg_pool2d(const Tensor& x, const Size2d& size);
[[nodiscard]] Tensor adaptive_avg_pool2d_backward(const Tensor& grad, const Shape& input_shape);
[[nodiscard]] Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size);
[[nodiscard]] Tensor adaptive_avg_pool1d_backward(const Tensor& grad, const Shape& input_shape);

}  // namespace troupe
