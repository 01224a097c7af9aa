#include "autograd/ops/conv.h"

#include <utility>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/ops.h"
#include "tensor/ops/convolution.h"

namespace troupe {
namespace {

using detail::Convolution;
using detail::edges_of;
using detail::record;
using detail::saved_for;
using detail::value_or_undefined;
using Edges = std::span<const Edge>;

Variable record_convolution(const Convolution& given, const Variable& image, const Variable& weight,
                            const Variable& bias) {
  const auto [convolution, extra] = detail::fitted(given, weight.shape());
  const Variable x = extra.empty() ? image : pad(image, extra);
  const auto [in, w] = detail::values_of(x, weight);
  Tensor result = detail::convolve(convolution, in, w, value_or_undefined(bias));
  return record(
      convolution.name, std::move(result), edges_of({&x, &weight, &bias}),
      [convolution = convolution, x_shape = in.shape(), w_shape = w.shape(), in = saved_for(weight, in),
       w = saved_for(x, w)](const Tensor& g, Edges to) {
        auto [by_x, by_weight] = detail::convolve_backward(convolution.name, convolution, g,
                                                           {.x_shape = x_shape,
                                                            .weight_shape = w_shape,
                                                            .x = to[1] ? in.get() : Tensor(),
                                                            .weight = to[0] ? w.get() : Tensor()});
        const Axes all_but_channels = convolution.dims == 1 ? Axes{0, 2} : Axes{0, 2, 3};
        return std::vector<Tensor>{std::move(by_x), std::move(by_weight), to[2] ? sum(g, all_but_channels) : Tensor()};
      });
}

}  // namespace

Variable conv1d(const Variable& x, const Variable& weight, const Variable& bias, const Conv1dOptions& options) {
  return record_convolution(Convolution(options), x, weight, bias);
}

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, const Conv2dOptions& options) {
  return record_convolution(Convolution(options), x, weight, bias);
}

Variable conv_transpose1d(const Variable& x, const Variable& weight, const Variable& bias,
                          const ConvTranspose1dOptions& options) {
  return record_convolution(Convolution(options), x, weight, bias);
}

Variable conv_transpose2d(const Variable& x, const Variable& weight, const Variable& bias,
                          const ConvTranspose2dOptions& options) {
  return record_convolution(Convolution(options), x, weight, bias);
}

}  // namespace troupe
