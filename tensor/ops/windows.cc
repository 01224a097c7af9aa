#include "tensor/ops/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/checked_size.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"

namespace troupe::detail {

void require_at_least(std::string_view op, std::string_view what, const Shape& numbers, std::int64_t least) {
  if (std::ranges::all_of(numbers, [least](std::int64_t n) { return n >= least; })) return;
  throw ValueError(fmt::format("[{}] {} below {}: {}", op, what, least, to_string(numbers)));
}

Shape count_windows(std::string_view op, const Shape& x, const Windows& windows, LastWindow last) {
  require_at_least(op, "window", windows.kernel, 1);
  require_at_least(op, "stride", windows.stride, 1);
  require_at_least(op, "padding", windows.padding, 0);
  require_at_least(op, "dilation", windows.dilation, 1);
  Shape counts;
  for (int i = 0; i < windows.kernel.size(); ++i) {
    const std::int64_t size = x[x.size() - windows.kernel.size() + i];
    const std::int64_t padding = windows.padding[i];
    const std::int64_t stride = windows.stride[i];
    const CheckedSize reach = CheckedSize(windows.dilation[i]) * (windows.kernel[i] - 1) + 1;
    const CheckedSize padded = CheckedSize(padding) * 2 + size;
    // This sum bounds every position that is computed for a window.
    if (!(padded + reach + stride).fits()) {
      throw ShapeError(fmt::format(
          "[{}] sizes do not fit into 64 bits: window {} with stride {}, padding {} and dilation {} over {}", op,
          to_string(windows.kernel), to_string(windows.stride), to_string(windows.padding), to_string(windows.dilation),
          to_string(x)));
    }
    const std::int64_t left = padded.value() - reach.value();
    const std::int64_t more = left + (last == LastWindow::partial ? stride - 1 : 0);
    std::int64_t count = more < 0 ? 0 : more / stride + 1;
    if (last == LastWindow::partial && (count - 1) * stride >= size + padding) --count;
    if (count < 1) {
      throw ShapeError(fmt::format("[{}] window larger than the padded image: {} over {}", op,
                                   to_string(windows.kernel), to_string(x)));
    }
    counts.push_back(count);
  }
  return counts;
}

void require_one_floating_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  require_together(op, a, b);
  require_same_dtype(op, a, b);
  if (!is_floating(a.dtype())) throw_not_floating(op, a.dtype());
}

void require_gradient(std::string_view op, const Tensor& grad, const Shape& expected) {
  if (grad.shape() == expected) return;
  throw ShapeError(
      fmt::format("[{}] gradient does not fit: {} for {}", op, to_string(grad.shape()), to_string(expected)));
}

DType window_dtype(const Tensor& x) { return kernels::on_gpu(x) ? x.dtype() : compute_dtype(x.dtype()); }

Tensor windowed(const Tensor& x) { return x.to(window_dtype(x)).contiguous(); }

Tensor computed(const Tensor& x) { return x.to(compute_dtype(x.dtype())).contiguous(); }

}  // namespace troupe::detail
