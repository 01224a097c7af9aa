#include "tensor/ops/conv.h"

#include <vector>

#include "tensor/ops/checks.h"
#include "tensor/ops/convolution.h"
#include "tensor/ops/shape.h"

namespace troupe {

using detail::Convolution;
using detail::convolve;
using detail::convolve_backward;
using detail::fitted;

namespace {

Tensor convolve_fitted(const Convolution& given, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  detail::require_together(given.name, x, weight);
  const auto [convolution, extra] = fitted(given, weight.shape());
  return convolve(convolution, extra.empty() ? x : pad(x, extra), weight, bias);
}

// Changes the sizes of the last dimensions as pad() does.
Shape padded(Shape shape, const std::vector<std::int64_t>& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) shape[shape.size() - 1 - static_cast<int>(i / 2)] += amounts[i];
  return shape;
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  return convolve_fitted(Convolution(options), x, weight, bias);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  return convolve_fitted(Convolution(options), x, weight, bias);
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
  const auto [convolution, extra] = fitted(Convolution(options), weight.shape());
  if (!extra.empty()) detail::require_rank("conv2d_backward_input", input_shape, 4);
  Tensor by_padded =
      convolve_backward(
          "conv2d_backward_input", convolution, grad,
          {.x_shape = padded(input_shape, extra), .weight_shape = weight.shape(), .x = {}, .weight = weight})
          .x;
  if (extra.empty()) return by_padded;
  return by_padded.slice(2, 0, input_shape[2]).slice(3, 0, input_shape[3]).contiguous();
}

Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& x, const Shape& weight_shape,
                              const Conv2dOptions& options) {
  x.require_defined("conv2d_backward_weight");
  const auto [convolution, extra] = fitted(Convolution(options), weight_shape);
  const Tensor image = extra.empty() ? x : pad(x, extra);
  return convolve_backward("conv2d_backward_weight", convolution, grad,
                           {.x_shape = image.shape(), .weight_shape = weight_shape, .x = image, .weight = {}})
      .weight;
}

}  // namespace troupe
