#include "tensor/ops/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tensor/checked_size.h"
#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/conv.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/windows.h"

namespace troupe::detail {
namespace {

using Direction = Convolution::Direction;

Shape last_of(const Size2d& size, int dims) { return dims == 2 ? Shape{size.height, size.width} : Shape{size.width}; }

Windows windows_of(const Convolution& c, const Shape& weight) {
  const Conv2dOptions& o = c.options;
  const Size2d kernel{c.dims == 2 ? weight[2] : 1, weight[c.dims + 1]};
  return {last_of(kernel, c.dims), last_of(o.stride, c.dims), last_of(o.padding, c.dims), last_of(o.dilation, c.dims)};
}

void require_channels(std::string_view name, const Convolution& c, const Shape& x, const Shape& weight) {
  require_rank(name, x, c.dims + 2);
  require_rank(name, weight, c.dims + 2);
  const std::int64_t groups = c.options.groups;
  if (groups < 1) throw ValueError(fmt::format("[{}] groups below 1: {}", name, groups));
  const CheckedSize channels =
      c.direction == Direction::transposed ? CheckedSize(weight[0]) : CheckedSize(weight[1]) * groups;
  if (!channels.fits() || x[1] != channels.value()) {
    throw ShapeError(fmt::format("[{}] channels differ: {} and weight {}{}", name, to_string(x), to_string(weight),
                                 groups > 1 ? fmt::format(", {} groups", groups) : ""));
  }
  if (weight[0] % groups != 0) {
    throw ShapeError(
        fmt::format("[{}] filters do not divide into {} groups: weight {}", name, groups, to_string(weight)));
  }
}

// Returns height and width of the output of a transposed convolution.
Shape transposed_sizes(std::string_view name, const Convolution& c, const Shape& x, const Windows& windows) {
  const Shape further = last_of(c.output_padding, c.dims);
  require_at_least(name, "window", windows.kernel, 1);
  require_at_least(name, "stride", windows.stride, 1);
  require_at_least(name, "padding", windows.padding, 0);
  require_at_least(name, "dilation", windows.dilation, 1);
  require_at_least(name, "output padding", further, 0);
  Shape sizes;
  for (int i = 0; i < c.dims; ++i) {
    if (further[i] >= windows.stride[i] && further[i] >= windows.dilation[i]) {
      throw ValueError(fmt::format("[{}] output padding not below stride or dilation: {}", name, to_string(further)));
    }
    const CheckedSize span = CheckedSize(windows.dilation[i]) * (windows.kernel[i] - 1) + 1;
    const CheckedSize size =
        (CheckedSize(x[i + 2]) - 1) * windows.stride[i] + span + further[i] - CheckedSize(windows.padding[i]) * 2;
    if (!size.fits()) {
      throw ShapeError(fmt::format(
          "[{}] sizes do not fit into 64 bits: window {} with stride {}, padding {} and dilation {} over {}", name,
          to_string(windows.kernel), to_string(windows.stride), to_string(windows.padding), to_string(windows.dilation),
          to_string(x)));
    }
    if (size.value() < 1) {
      throw ShapeError(
          fmt::format("[{}] padding leaves nothing: {} from {}", name, to_string(windows.padding), to_string(x)));
    }
    sizes.push_back(size.value());
  }
  return sizes;
}

Shape result_shape(std::string_view name, const Convolution& c, const Shape& x, const Shape& weight) {
  require_channels(name, c, x, weight);
  const Windows windows = windows_of(c, weight);
  const bool transposed = c.direction == Direction::transposed;
  const Shape sizes = transposed ? transposed_sizes(name, c, x, windows) : count_windows(name, x, windows);
  const CheckedSize channels = transposed ? CheckedSize(weight[1]) * c.options.groups : CheckedSize(weight[0]);
  if (!channels.fits()) {
    throw ShapeError(
        fmt::format("[{}] too many channels: weight {}, {} groups", name, to_string(weight), c.options.groups));
  }
  Shape shape{x[0], channels.value()};
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

// Kernels process images only: a line is an image of height 1.
Tensor as_image(const Tensor& x) { return x.dim() == 3 ? x.unsqueeze(2) : x; }
Tensor operand(const Tensor& x) { return as_image(windowed(x)); }

Tensor uninitialised(const Shape& shape, const Tensor& like) {
  return Tensor::empty(shape, window_dtype(like), like.device());
}

// Returns a view of the bias that broadcasts to the result.
Tensor over_channels(const Tensor& bias, int dims) { return bias.reshape(dims == 1 ? Shape{-1, 1} : Shape{-1, 1, 1}); }

}  // namespace

Convolution::Convolution(const Conv1dOptions& o)
    : name("conv1d"),
      direction(Direction::forward),
      dims(1),
      options{{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups} {}

Convolution::Convolution(const Conv2dOptions& o) : name("conv2d"), direction(Direction::forward), dims(2), options(o) {}

Convolution::Convolution(const ConvTranspose1dOptions& o)
    : name("conv_transpose1d"),
      direction(Direction::transposed),
      dims(1),
      options{{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups},
      output_padding{0, o.output_padding} {}

Convolution::Convolution(const ConvTranspose2dOptions& o)
    : name("conv_transpose2d"),
      direction(Direction::transposed),
      dims(2),
      options{o.stride, o.padding, o.dilation, o.groups},
      output_padding(o.output_padding) {}

FittedConvolution fitted(const Convolution& c, const Shape& weight) {
  const Size2d& padding = c.options.padding;
  if (padding.height != kSame && padding.width != kSame) return {c, {}};
  require_rank(c.name, weight, c.dims + 2);
  const Windows windows = windows_of(c, weight);
  require_at_least(c.name, "window", windows.kernel, 1);
  require_at_least(c.name, "dilation", windows.dilation, 1);
  FittedConvolution result{c, {}};
  std::vector<std::int64_t> behind;  // in the order of pad(): the last dimension first
  for (int i = c.dims - 1; i >= 0; --i) {
    behind.insert(behind.end(), {0, 0});
    if (windows.padding[i] != kSame) continue;
    if (windows.stride[i] != 1) {
      throw ValueError(
          fmt::format("[{}] padding that keeps the size with stride {}", c.name, to_string(windows.stride)));
    }
    const CheckedSize zeros = CheckedSize(windows.dilation[i]) * (windows.kernel[i] - 1);
    if (!zeros.fits()) {
      throw ShapeError(fmt::format("[{}] sizes do not fit into 64 bits: window {} with dilation {}", c.name,
                                   to_string(windows.kernel), to_string(windows.dilation)));
    }
    result.convolution.options.padding[static_cast<std::size_t>(2 - c.dims + i)] = zeros.value() / 2;
    behind.back() = zeros.value() % 2;
  }
  if (std::ranges::any_of(behind, [](std::int64_t amount) { return amount != 0; })) result.extra = std::move(behind);
  return result;
}

Tensor convolve(const Convolution& c, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_one_floating_dtype(c.name, x, weight);
  const Shape shape = result_shape(c.name, c, x.shape(), weight.shape());
  if (bias.defined()) {
    require_one_floating_dtype(c.name, x, bias);
    if (bias.shape() != Shape{shape[1]}) {
      throw ShapeError(fmt::format("[{}] bias does not fit: {} for weight {}", c.name, to_string(bias.shape()),
                                   to_string(weight.shape())));
    }
  }
  if (shape.numel() == 0 || x.numel() == 0 || weight.numel() == 0) {
    Tensor out = zeros(shape, x.dtype(), x.device());
    if (bias.defined()) out.copy_from(over_channels(bias, c.dims));
    return out;
  }
  Tensor out = uninitialised(shape, x);
  Tensor image = as_image(out);
  if (c.direction == Direction::forward) {
    kernels_of(image).convolve(image, operand(x), operand(weight), bias.defined() ? windowed(bias) : bias, c.options);
  } else {
    kernels_of(image).convolve_backward_input(image, operand(x), operand(weight), c.options);
    if (bias.defined()) add_into(out, over_channels(windowed(bias), c.dims).expand(shape));
  }
  return out.to(x.dtype());
}

ConvolutionGradients convolve_backward(std::string_view name, const Convolution& c, const Tensor& grad,
                                       const ConvolutionOperands& operands) {
  for (const Tensor* x : {&operands.x, &operands.weight}) {
    if (x->defined()) require_one_floating_dtype(name, grad, *x);
  }
  require_gradient(name, grad, result_shape(name, c, operands.x_shape, operands.weight_shape));
  const bool by_x = operands.weight.defined();
  const bool by_weight = operands.x.defined();
  if (grad.numel() == 0 || operands.x_shape.numel() == 0 || operands.weight_shape.numel() == 0) {
    const auto none = [&](bool wanted, const Shape& shape) {
      return wanted ? zeros(shape, grad.dtype(), grad.device()) : Tensor();
    };
    return {none(by_x, operands.x_shape), none(by_weight, operands.weight_shape)};
  }
  ConvolutionGradients gradients;
  Tensor dx;
  Tensor dw;
  if (by_x) dx = as_image(gradients.x = uninitialised(operands.x_shape, grad));
  if (by_weight) dw = as_image(gradients.weight = uninitialised(operands.weight_shape, grad));
  const Tensor dy = operand(grad);
  const Tensor x = by_weight ? operand(operands.x) : Tensor();
  const Tensor weight = by_x ? operand(operands.weight) : Tensor();
  if (c.direction == Direction::transposed) {
    if (by_x) kernels_of(dx).convolve(dx, dy, weight, {}, c.options);
    if (by_weight) kernels_of(dw).convolve_backward_weight(dw, x, dy, c.options);
  } else if (by_x && by_weight) {
    kernels_of(dx).convolve_backward(dx, dw, dy, x, weight, c.options);
  } else if (by_x) {
    kernels_of(dx).convolve_backward_input(dx, dy, weight, c.options);
  } else if (by_weight) {
    kernels_of(dw).convolve_backward_weight(dw, dy, x, c.options);
  }
  if (by_x) gradients.x = gradients.x.to(grad.dtype());
  if (by_weight) gradients.weight = gradients.weight.to(grad.dtype());
  return gradients;
}

}  // namespace troupe::detail
