// The sizes of a convolution in the form that its kernels use.
#pragma once

#include <cstdint>

#include "tensor/kernels/convolution.h"

namespace troupe::cpu {

/// Images (n, c, h, w) and filters (o, c / groups, kh, kw) give (n, o, oh, ow). Pixels at the far side of an image that
/// no window reaches are not read.
struct ConvSizes {
  ConvSizes(const Shape& x, const Shape& weight, const Shape& y, const Conv2dOptions& options)
      : images(x[0]),
        groups(options.groups),
        inputs(weight[1]),
        outputs(weight[0] / options.groups),
        in{x[2], x[3]},
        kernel{weight[2], weight[3]},
        out{y[2], y[3]},
        stride(options.stride),
        padding(options.padding),
        dilation(options.dilation) {}

  std::int64_t images;
  std::int64_t groups;
  std::int64_t inputs;   ///< channels of one group
  std::int64_t outputs;  ///< filters of one group
  Size2d in, kernel, out, stride, padding, dilation;

  [[nodiscard]] std::int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Returns the number of products in one result.
  [[nodiscard]] std::int64_t depth() const { return inputs * taps(); }
  [[nodiscard]] std::int64_t in_pixels() const { return in[0] * in[1]; }
  [[nodiscard]] std::int64_t out_pixels() const { return out[0] * out[1]; }
  /// Returns whether each result depends on one pixel at its own place. Then the convolution is a matrix product.
  [[nodiscard]] bool is_pointwise() const { return taps() == 1 && in == out && padding == Size2d{0, 0}; }
};

}  // namespace troupe::cpu
