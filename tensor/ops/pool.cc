#include "tensor/ops/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "tensor/checked_size.h"
#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/windows.h"

namespace troupe {
namespace {

using detail::computed;
using detail::LastWindow;
using detail::Windows;
using kernels::PoolWindows;

/// The windows along both dimensions of an image; a line is an image of height 1.
struct ImageWindows {
  PoolWindows rows{.begin = {0}, .end = {1}, .counted = {1}};
  PoolWindows columns;
};

enum class Counting : std::uint8_t { inside, padding_too };

/// The windows over an image (2 dimensions) or a line (1). No list of windows, which might not fit into memory.
struct WindowPlan {
  Shape sizes;                     ///< sizes of the image or line
  Shape counts;                    ///< number of windows along each dimension
  std::optional<Windows> regular;  ///< none: adaptive windows, of almost equal size
  Counting counting = Counting::inside;

  [[nodiscard]] Shape result_shape(const Shape& x) const {
    return counts.size() == 1 ? Shape{x[0], x[1], counts[0]} : Shape{x[0], x[1], counts[0], counts[1]};
  }
};

Shape sizes_of(const Shape& x) { return x.size() == 3 ? Shape{x[2]} : Shape{x[2], x[3]}; }

void require_images(std::string_view op, const Tensor& x, int dims) {
  x.require_defined(op);
  if (!is_floating(x.dtype())) detail::throw_not_floating(op, x.dtype());
  detail::require_rank(op, x.shape(), dims + 2);
}

PoolWindows regular_windows(std::int64_t size, std::int64_t count, const Windows& windows, int dim, Counting counting) {
  const std::int64_t step = windows.kernel[dim] == 1 ? 1 : windows.dilation[dim];
  const std::int64_t padding = windows.padding[dim];
  PoolWindows result{.begin = {},
                     .end = {},
                     .counted = {},
                     .step = step,
                     .first = -padding,
                     .stride = windows.stride[dim],
                     .kernel = windows.kernel[dim]};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = i * windows.stride[dim] - padding;
    const std::int64_t stop = start + (windows.kernel[dim] - 1) * step + 1;
    result.begin.push_back(start >= 0 ? start : start + (-start + step - 1) / step * step);
    result.end.push_back(std::min(stop, size));
    result.counted.push_back(counting == Counting::padding_too ? std::min(stop, size + padding) - start
                                                               : result.end.back() - result.begin.back());
  }
  return result;
}

// Returns whether a window that begins before the image skips all of it. One that begins inside never does.
bool jumps_over(std::int64_t size, std::int64_t count, const Windows& windows, int dim) {
  const std::int64_t step = windows.dilation[dim];
  if (size >= step) return false;
  for (std::int64_t i = 0, start = -windows.padding[dim]; i < count && start < 0; ++i, start += windows.stride[dim]) {
    if ((step + start % step) % step >= size) return true;
  }
  return false;
}

// Plans the windows of images (x has 4 dimensions) or lines (3).
WindowPlan regular(std::string_view op, const Shape& x, const Windows& windows, LastWindow last,
                   Counting counting = Counting::inside) {
  const Shape counts = detail::count_windows(op, x, windows, last);
  const int dims = counts.size();
  for (int i = 0; i < dims; ++i) {
    if (windows.padding[i] <= windows.kernel[i] / 2) continue;
    throw ValueError(fmt::format("[{}] padding above half the kernel: {} of {}", op, to_string(windows.padding),
                                 to_string(windows.kernel)));
  }
  for (int i = 0; i < dims; ++i) {
    if (!jumps_over(x[i + 2], counts[i], windows, i)) continue;
    throw ValueError(fmt::format("[{}] a window is in the padding alone: {} with dilation {} over {}", op,
                                 to_string(windows.kernel), to_string(windows.dilation), to_string(x)));
  }
  return {sizes_of(x), counts, windows, counting};
}

PoolWindows adaptive_windows(std::int64_t size, std::int64_t count) {
  PoolWindows result;
  if (size % count == 0) result.stride = result.kernel = size / count;
  for (std::int64_t i = 0; i < count; ++i) {
    result.begin.push_back(i * size / count);
    result.end.push_back(((i + 1) * size + count - 1) / count);
    result.counted.push_back(result.end.back() - result.begin.back());
  }
  return result;
}

WindowPlan adaptive(std::string_view op, const Shape& x, const Shape& counts) {
  detail::require_at_least(op, "size", counts, 1);
  for (int i = 0; i < counts.size(); ++i) {
    if (x[i + 2] == 0) throw ShapeError(fmt::format("[{}] nothing to take parts of: {}", op, to_string(x)));
    if ((detail::CheckedSize(counts[i]) * x[i + 2] + counts[i] + x[i + 2]).fits()) continue;
    throw ShapeError(fmt::format("[{}] too many parts: {} of {}", op, to_string(counts), to_string(x)));
  }
  return {sizes_of(x), counts, std::nullopt};
}

/// Lists the windows. REQUIRES: the result tensor is allocated, which bounds the length of the lists.
ImageWindows listed(const WindowPlan& plan) {
  const auto along = [&](int dim) {
    if (!plan.regular) return adaptive_windows(plan.sizes[dim], plan.counts[dim]);
    return regular_windows(plan.sizes[dim], plan.counts[dim], *plan.regular, dim, plan.counting);
  };
  const int dims = plan.counts.size();
  ImageWindows result;
  if (dims == 2) result.rows = along(0);
  result.columns = along(dims - 1);
  return result;
}

Shape both(const Size2d& size) { return {size[0], size[1]}; }
Windows windows_of(const MaxPool2dOptions& o) {
  return {both(o.kernel), both(o.stride), both(o.padding), both(o.dilation)};
}
Windows windows_of(const MaxPool1dOptions& o) { return {{o.kernel}, {o.stride}, {o.padding}, {o.dilation}}; }
Windows windows_of(const AvgPool2dOptions& o) { return {both(o.kernel), both(o.stride), both(o.padding), {1, 1}}; }
Windows windows_of(const AvgPool1dOptions& o) { return {{o.kernel}, {o.stride}, {o.padding}, {1}}; }

template <class Options>
WindowPlan max_windows(std::string_view op, const Shape& x, const Options& o) {
  return regular(op, x, windows_of(o), o.ceil_mode ? LastWindow::partial : LastWindow::whole);
}

template <class Options>
WindowPlan avg_windows(std::string_view op, const Shape& x, const Options& o) {
  return regular(op, x, windows_of(o), o.ceil_mode ? LastWindow::partial : LastWindow::whole,
                 o.count_include_pad ? Counting::padding_too : Counting::inside);
}

Tensor as_image(const Tensor& x) { return x.dim() == 3 ? x.unsqueeze(2) : x; }

std::int64_t plane_of(const Shape& shape) {
  std::int64_t size = 1;
  for (int i = 2; i < shape.size(); ++i) size *= shape[i];
  return size;
}

void require_places(std::string_view op, const Tensor& places, std::int64_t plane) {
  if (kernels::on_gpu(places)) {
    static_cast<void>(detail::checked_index(op, places, plane));
    return;
  }
  for (const std::int32_t place : places.data<std::int32_t>()) {
    if (place < 0 || place >= plane) {
      throw IndexError(fmt::format("[{}] index out of range: {} of {}", op, place, plane));
    }
  }
}

MaxPoolResult max_pool(std::string_view op, const Tensor& x, const WindowPlan& plan) {
  if (plane_of(x.shape()) > std::numeric_limits<std::int32_t>::max()) {
    throw ShapeError(fmt::format("[{}] more than 2^31 - 1 elements in an image: {}", op, to_string(x.shape())));
  }
  const Shape shape = plan.result_shape(x.shape());
  MaxPoolResult result{Tensor::empty(shape, detail::window_dtype(x), x.device()),
                       Tensor::empty(shape, DType::i32, x.device())};
  if (shape.numel() != 0) {
    const ImageWindows windows = listed(plan);
    Tensor out = as_image(result.output);
    Tensor where_max = as_image(result.where_max);
    kernels_of(out).max_pool(out, where_max, as_image(detail::windowed(x)), windows.rows, windows.columns);
  }
  result.output = result.output.to(x.dtype());
  return result;
}

Tensor avg_pool(const Tensor& x, const WindowPlan& plan) {
  const Shape shape = plan.result_shape(x.shape());
  Tensor result = Tensor::empty(shape, detail::window_dtype(x), x.device());
  if (shape.numel() == 0) return result.to(x.dtype());
  const ImageWindows windows = listed(plan);
  Tensor out = as_image(result);
  kernels_of(out).avg_pool(out, as_image(detail::windowed(x)), windows.rows, windows.columns);
  return result.to(x.dtype());
}

Tensor avg_pool_backward(std::string_view op, const Tensor& grad, const Shape& input_shape, const WindowPlan& plan) {
  detail::require_gradient(op, grad, plan.result_shape(input_shape));
  Tensor result = zeros(input_shape, detail::window_dtype(grad), grad.device());
  if (grad.numel() == 0) return result.to(grad.dtype());
  const ImageWindows windows = listed(plan);
  Tensor in = as_image(result);
  kernels_of(in).avg_pool_backward(in, as_image(detail::windowed(grad)), windows.rows, windows.columns);
  return result.to(grad.dtype());
}

// Checks that `grad` and `input_shape` are of images (`dims` 2) or lines (1).
void require_gradient_of_images(std::string_view op, const Tensor& grad, const Shape& input_shape, int dims) {
  require_images(op, grad, dims);
  detail::require_rank(op, input_shape, dims + 2);
}

constexpr std::string_view kMaxPoolBackward = "max_pool_backward";

void require_places_of(const Tensor& grad, const Tensor& where_max, const Shape& input_shape, int dims) {
  detail::require_together(kMaxPoolBackward, grad, where_max);
  require_gradient_of_images(kMaxPoolBackward, grad, input_shape, dims);
  if (where_max.dtype() != DType::i32 || where_max.shape() != grad.shape()) {
    throw ShapeError(fmt::format("[{}] where_max does not fit: {} {} for {}", kMaxPoolBackward,
                                 name_of(where_max.dtype()), to_string(where_max.shape()), to_string(grad.shape())));
  }
  if (grad.size(0) != input_shape[0] || grad.size(1) != input_shape[1]) {
    throw ShapeError(fmt::format("[{}] gradient does not fit: {} for an input {}", kMaxPoolBackward,
                                 to_string(grad.shape()), to_string(input_shape)));
  }
}

template <class Options>
Tensor max_pool_backward_with(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                              const Options& options, int dims) {
  require_places_of(grad, where_max, input_shape, dims);
  const WindowPlan plan = max_windows(kMaxPoolBackward, input_shape, options);
  detail::require_gradient(kMaxPoolBackward, grad, plan.result_shape(input_shape));
  if (!kernels::on_gpu(grad) || grad.numel() == 0) return max_pool_backward(grad, where_max, input_shape);
  const ImageWindows windows = listed(plan);
  Tensor result = Tensor::empty(input_shape, grad.dtype(), grad.device());
  Tensor in = as_image(result);
  kernels_of(in).max_pool_backward_of_windows(in, as_image(grad.contiguous()), as_image(where_max.contiguous()),
                                              windows.rows, windows.columns);
  return result;
}

}  // namespace

MaxPoolResult max_pool2d(const Tensor& x, const MaxPool2dOptions& options) {
  require_images("max_pool2d", x, 2);
  return max_pool("max_pool2d", x, max_windows("max_pool2d", x.shape(), options));
}

MaxPoolResult max_pool1d(const Tensor& x, const MaxPool1dOptions& options) {
  require_images("max_pool1d", x, 1);
  return max_pool("max_pool1d", x, max_windows("max_pool1d", x.shape(), options));
}

MaxPoolResult adaptive_max_pool2d(const Tensor& x, const Size2d& size) {
  require_images("adaptive_max_pool2d", x, 2);
  return max_pool("adaptive_max_pool2d", x, adaptive("adaptive_max_pool2d", x.shape(), both(size)));
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape) {
  require_places_of(grad, where_max, input_shape, input_shape.size() == 3 ? 1 : 2);
  const Tensor places = where_max.contiguous();
  require_places(kMaxPoolBackward, places, plane_of(input_shape));
  Tensor result = zeros(input_shape, compute_dtype(grad.dtype()), grad.device());
  if (grad.numel() == 0) return result.to(grad.dtype());
  Tensor in = as_image(result);
  kernels_of(in).max_pool_backward(in, as_image(computed(grad)), as_image(places));
  return result.to(grad.dtype());
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                         const MaxPool2dOptions& options) {
  return max_pool_backward_with(grad, where_max, input_shape, options, 2);
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& where_max, const Shape& input_shape,
                         const MaxPool1dOptions& options) {
  return max_pool_backward_with(grad, where_max, input_shape, options, 1);
}

Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options) {
  require_images("avg_pool2d", x, 2);
  return avg_pool(x, avg_windows("avg_pool2d", x.shape(), options));
}

Tensor avg_pool2d_backward(const Tensor& grad, const Shape& input_shape, const AvgPool2dOptions& options) {
  constexpr std::string_view kName = "avg_pool2d_backward";
  require_gradient_of_images(kName, grad, input_shape, 2);
  return avg_pool_backward(kName, grad, input_shape, avg_windows(kName, input_shape, options));
}

Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& options) {
  require_images("avg_pool1d", x, 1);
  return avg_pool(x, avg_windows("avg_pool1d", x.shape(), options));
}

Tensor avg_pool1d_backward(const Tensor& grad, const Shape& input_shape, const AvgPool1dOptions& options) {
  constexpr std::string_view kName = "avg_pool1d_backward";
  require_gradient_of_images(kName, grad, input_shape, 1);
  return avg_pool_backward(kName, grad, input_shape, avg_windows(kName, input_shape, options));
}

Tensor adaptive_avg_pool2d(const Tensor& x, const Size2d& size) {
  require_images("adaptive_avg_pool2d", x, 2);
  return avg_pool(x, adaptive("adaptive_avg_pool2d", x.shape(), both(size)));
}

Tensor adaptive_avg_pool2d_backward(const Tensor& grad, const Shape& input_shape) {
  constexpr std::string_view kName = "adaptive_avg_pool2d_backward";
  require_gradient_of_images(kName, grad, input_shape, 2);
  return avg_pool_backward(kName, grad, input_shape, adaptive(kName, input_shape, {grad.size(2), grad.size(3)}));
}

Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size) {
  require_images("adaptive_avg_pool1d", x, 1);
  return avg_pool(x, adaptive("adaptive_avg_pool1d", x.shape(), {size}));
}

Tensor adaptive_avg_pool1d_backward(const Tensor& grad, const Shape& input_shape) {
  constexpr std::string_view kName = "adaptive_avg_pool1d_backward";
  require_gradient_of_images(kName, grad, input_shape, 1);
  return avg_pool_backward(kName, grad, input_shape, adaptive(kName, input_shape, {grad.size(2)}));
}

}  // namespace troupe
