#include "autograd/nn/conv.h"

#include <fmt/format.h>

#include "autograd/nn/init.h"
#include "autograd/ops_nn.h"
#include "tensor/error.h"

namespace troupe::nn {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel, Generator& generator,
               const Conv2dOptions& options, Bias bias, DType dtype)
    : options_(options) {
  if (in_channels < 1 || out_channels < 1 || kernel[0] < 1 || kernel[1] < 1) {
    throw ValueError(fmt::format("[Conv2d] sizes below 1: {} -> {}, kernel {} x {}", in_channels, out_channels,
                                 kernel[0], kernel[1]));
  }
  const Shape shape{out_channels, in_channels, kernel[0], kernel[1]};
  weight_ = add_parameter("weight", uniform_by_fan_in(shape, fan_in(shape), generator, dtype));
  if (bias == Bias::yes)
    bias_ = add_parameter("bias", uniform_by_fan_in({out_channels}, fan_in(shape), generator, dtype));
}

Variable Conv2d::forward(const Variable& x) { return conv2d(x, weight_, bias_, options_); }

}  // namespace troupe::nn
