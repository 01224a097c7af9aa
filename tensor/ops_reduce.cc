#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "tensor/checks.h"
#include "tensor/cpu/reduce.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using cpu::AxisSet;
using cpu::ReduceOp;

Axes all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.dim()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

AxisSet axis_set(std::string_view op, const Shape& shape, const Axes& axes) {
  AxisSet set{};
  for (int axis : axes.values()) {
    bool& folded = set[static_cast<std::size_t>(normalize_dim(op, axis, shape))];
    if (folded) throw ShapeError(fmt::format("[{}] dimension given twice: {}", op, axis));
    folded = true;
  }
  return set;
}

Shape reduced_shape(const Shape& shape, const AxisSet& axes, KeepDim keep) {
  Shape result;
  for (int i = 0; i < shape.size(); ++i) {
    if (!axes[static_cast<std::size_t>(i)]) {
      result.push_back(shape[i]);
    } else if (keep == KeepDim::yes) {
      result.push_back(1);
    }
  }
  return result;
}

Tensor reduce(std::string_view name, ReduceOp op, const Tensor& x, const Axes& axes, KeepDim keep) {
  x.require_defined(name);
  const AxisSet set = axis_set(name, x.shape(), axes);
  const Shape shape = reduced_shape(x.shape(), set, keep);
  const bool is_extreme = op == ReduceOp::max || op == ReduceOp::min;
  if (is_extreme && x.numel() == 0 && shape.numel() > 0) {
    throw ShapeError(fmt::format("[{}] no elements: {}", name, to_string(x.shape())));
  }
  const Tensor from = op == ReduceOp::mean ? x.to(promote_to_floating(x.dtype())) : x;
  const bool widens = op == ReduceOp::sum && !is_floating(x.dtype());
  Tensor out = Tensor::empty(shape, widens ? DType::i64 : from.dtype(), x.device());
  cpu::reduce(op, out, from, set);
  return out;
}

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, all_axes(x)); }
Tensor sum(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("sum", ReduceOp::sum, x, axes, keep); }
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }
Tensor mean(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("mean", ReduceOp::mean, x, axes, keep); }
Tensor max(const Tensor& x) { return max(x, all_axes(x)); }
Tensor max(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("max", ReduceOp::max, x, axes, keep); }
Tensor min(const Tensor& x) { return min(x, all_axes(x)); }
Tensor min(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("min", ReduceOp::min, x, axes, keep); }

Tensor argmax(const Tensor& x, int dim, KeepDim keep) {
  x.require_defined("argmax");
  const int at = normalize_dim("argmax", dim, x.shape());
  const Shape shape = reduced_shape(x.shape(), axis_set("argmax", x.shape(), at), keep);
  if (x.shape()[at] == 0) throw ShapeError(fmt::format("[argmax] no elements: {}", to_string(x.shape())));
  Tensor out = Tensor::empty(shape, DType::i64, x.device());
  // To the last place, the others keeping their order.
  std::vector<int> order = all_axes(x).values();
  order.erase(order.begin() + at);
  order.push_back(at);
  cpu::argmax_last(out, x.permute(order));
  return out;
}

Tensor logsumexp(const Tensor& x, const Axes& axes, KeepDim keep) {
  constexpr std::string_view kName = "logsumexp";
  x.require_defined(kName);
  const DType dtype = promote_to_floating(x.dtype());
  const Tensor real = x.to(compute_dtype(dtype));
  const Tensor top = reduce(kName, ReduceOp::max, real, axes, KeepDim::yes);
  // An infinite shift would turn infinities into NaN.
  const Tensor shift = where(eq(abs(top), std::numeric_limits<double>::infinity()), zeros_like(top), top);
  const Tensor result = add(log(sum(exp(sub(real, shift)), axes, KeepDim::yes)), shift);
  return result.to(dtype).reshape(reduced_shape(x.shape(), axis_set(kName, x.shape(), axes), keep));
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  x.require_defined("sum_to");
  if (!broadcasts_to(shape, x.shape())) {
    throw ShapeError(fmt::format("[sum_to] {} does not broadcast to {}", to_string(shape), to_string(x.shape())));
  }
  if (x.shape() == shape) return x;
  const int lead = x.dim() - shape.size();
  std::vector<int> axes;
  for (int i = 0; i < x.dim(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return sum(x, axes, KeepDim::yes).reshape(shape);
}

}  // namespace troupe
