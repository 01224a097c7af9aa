#include "tensor/ops_conv.h"

#include "tensor/convolution.h"

namespace troupe {

using detail::convolve;
using detail::convolve_backward;
using detail::Convolution;

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  return convolve(Convolution(options), x, weight, bias);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  return convolve(Convolution(options), x, weight, bias);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  return convolve(Convolution(options), x, weight, bias);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  return convolve(Convolution(options), x, weight, bias);
}

Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_shape,
                             const Conv2dOptions& options) {
  weight.require_defined("conv2d_backward_input");
  return convolve_backward("conv2d_backward_input", Convolution(options), grad,
                           {.x_shape = input_shape, .weight_shape = weight.shape(), .x = {}, .weight = weight})
      .x;
}

Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& x, const Shape& weight_shape,
                              const Conv2dOptions& options) {
  x.require_defined("conv2d_backward_weight");
  return convolve_backward("conv2d_backward_weight", Convolution(options), grad,
                           {.x_shape = x.shape(), .weight_shape = weight_shape, .x = x, .weight = {}})
      .weight;
}

}  // namespace troupe
