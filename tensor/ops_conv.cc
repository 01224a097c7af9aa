#include "tensor/ops_conv.h"

#include <fmt/format.h>

#include "tensor/checks.h"
#include "tensor/cpu/convolution.h"
#include "tensor/cpu/pooling.h"
#include "tensor/create.h"
#include "tensor/ops_pool.h"

namespace troupe {
namespace {

std::string text(const Size2d& size) { return fmt::format("({}, {})", size[0], size[1]); }

void require_at_least(std::string_view op, std::string_view what, const Size2d& size, std::int64_t least) {
  if (size[0] < least || size[1] < least) {
    throw ValueError(fmt::format("[{}] {} below {}: {}", op, what, least, text(size)));
  }
}

// A conversion between operands is for the caller to see. What neither oneDNN nor the loops for f64 compute in is
// converted as a whole by `computed`, and the result rounded once.
void require_one_floating_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  detail::require_together(op, a, b);
  detail::require_same_dtype(op, a, b);
  if (!is_floating(a.dtype())) detail::throw_not_floating(op, a.dtype());
}

Tensor computed(const Tensor& x) { return x.to(compute_dtype(x.dtype())).contiguous(); }

// Height and width of the output of windows that slide over an image.
Size2d output_size(std::string_view op, const Shape& x, const Size2d& window, const Conv2dOptions& options) {
  require_at_least(op, "window", window, 1);
  require_at_least(op, "stride", options.stride, 1);
  require_at_least(op, "padding", options.padding, 0);
  require_at_least(op, "dilation", options.dilation, 1);
  Size2d size{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t room = x[static_cast<int>(i) + 2] + 2 * options.padding[i];
    const std::int64_t span = options.dilation[i] * (window[i] - 1) + 1;
    if (span > room) {
      throw ShapeError(
          fmt::format("[{}] window larger than the padded image: {} over {}", op, text(window), to_string(x)));
    }
    size[i] = (room - span) / options.stride[i] + 1;
  }
  return size;
}

Shape conv_shape(std::string_view op, const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  detail::require_rank(op, x, 4);
  detail::require_rank(op, weight, 4);
  if (x[1] != weight[1]) {
    throw ShapeError(fmt::format("[{}] channels differ: {} and weight {}", op, to_string(x), to_string(weight)));
  }
  const Size2d size = output_size(op, x, {weight[2], weight[3]}, options);
  return {x[0], weight[0], size[0], size[1]};
}

Shape pool_shape(std::string_view op, const Shape& x, const Pool2dOptions& options) {
  detail::require_rank(op, x, 4);
  const Size2d size =
      output_size(op, x, options.kernel, {.stride = options.stride, .padding = options.padding, .dilation = {1, 1}});
  if (2 * options.padding[0] > options.kernel[0] || 2 * options.padding[1] > options.kernel[1]) {
    throw ValueError(
        fmt::format("[{}] padding above half the kernel: {} of {}", op, text(options.padding), text(options.kernel)));
  }
  return {x[0], x[1], size[0], size[1]};
}

void require_gradient(std::string_view op, const Tensor& grad, const Shape& expected) {
  if (grad.shape() == expected) return;
  throw ShapeError(
      fmt::format("[{}] gradient does not fit: {} for {}", op, to_string(grad.shape()), to_string(expected)));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  require_one_floating_dtype("conv2d", x, weight);
  const Shape shape = conv_shape("conv2d", x.shape(), weight.shape(), options);
  if (bias.defined()) {
    require_one_floating_dtype("conv2d", x, bias);
    if (bias.shape() != Shape{weight.size(0)}) {
      throw ShapeError(fmt::format("[conv2d] bias does not fit: {} for weight {}", to_string(bias.shape()),
                                   to_string(weight.shape())));
    }
  }
  if (shape.numel() == 0 || x.numel() == 0) {
    Tensor out = zeros(shape, x.dtype(), x.device());
    if (bias.defined()) out.copy_from(bias.reshape({-1, 1, 1}));
    return out;
  }
  Tensor out = Tensor::empty(shape, compute_dtype(x.dtype()), x.device());
  cpu::convolve(out, computed(x), computed(weight), bias.defined() ? computed(bias) : bias, options);
  return out.to(x.dtype());
}

Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_shape,
                             const Conv2dOptions& options) {
  constexpr std::string_view kName = "conv2d_backward_input";
  require_one_floating_dtype(kName, grad, weight);
  require_gradient(kName, grad, conv_shape(kName, input_shape, weight.shape(), options));
  if (grad.numel() == 0 || input_shape.numel() == 0) return zeros(input_shape, grad.dtype(), grad.device());
  Tensor out = Tensor::empty(input_shape, compute_dtype(grad.dtype()), grad.device());
  cpu::convolve_backward_input(out, computed(grad), computed(weight), options);
  return out.to(grad.dtype());
}

Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& x, const Shape& weight_shape,
                              const Conv2dOptions& options) {
  constexpr std::string_view kName = "conv2d_backward_weight";
  require_one_floating_dtype(kName, grad, x);
  require_gradient(kName, grad, conv_shape(kName, x.shape(), weight_shape, options));
  if (grad.numel() == 0 || x.numel() == 0) return zeros(weight_shape, grad.dtype(), grad.device());
  Tensor out = Tensor::empty(weight_shape, compute_dtype(grad.dtype()), grad.device());
  cpu::convolve_backward_weight(out, computed(grad), computed(x), options);
  return out.to(grad.dtype());
}

MaxPool2dResult max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  x.require_defined("max_pool2d");
  if (!is_floating(x.dtype())) detail::throw_not_floating("max_pool2d", x.dtype());
  const Shape shape = pool_shape("max_pool2d", x.shape(), options);
  if (shape.numel() == 0) return {zeros(shape, x.dtype(), x.device()), Tensor::empty({0}, DType::u8, x.device())};
  Tensor out = Tensor::empty(shape, compute_dtype(x.dtype()), x.device());
  Tensor where_max = cpu::max_pool(out, computed(x), options);
  return {out.to(x.dtype()), where_max};
}

Tensor max_pool2d_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                           const Pool2dOptions& options) {
  constexpr std::string_view kName = "max_pool2d_backward";
  detail::require_together(kName, grad, where_max);
  if (!is_floating(grad.dtype())) detail::throw_not_floating(kName, grad.dtype());
  require_gradient(kName, grad, pool_shape(kName, input_shape, options));
  if (grad.numel() == 0) return zeros(input_shape, grad.dtype(), grad.device());
  Tensor out = Tensor::empty(input_shape, compute_dtype(grad.dtype()), grad.device());
  cpu::max_pool_backward(out, computed(grad), where_max, options);
  return out.to(grad.dtype());
}

}  // namespace troupe
