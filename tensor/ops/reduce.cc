#include "tensor/ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tensor/create.h"
#include "tensor/decompositions/centred.h"
#include "tensor/dims.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using kernels::AxisSet;
using kernels::ReduceOp;

Axes all_axes(const Tensor& x) { return detail::all_dims(x.dim()); }

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
  const bool widens = (op == ReduceOp::sum || op == ReduceOp::prod) && !is_floating(x.dtype());
  Tensor out = Tensor::empty(shape, widens ? DType::i64 : from.dtype(), x.device());
  kernels_of(out).reduce(op, out, from, set);
  return out;
}

Tensor argument(std::string_view name, kernels::Extreme extreme, const Tensor& x, int dim, KeepDim keep) {
  x.require_defined(name);
  const int at = normalize_dim(name, dim, x.shape());
  const Shape shape = reduced_shape(x.shape(), axis_set(name, x.shape(), at), keep);
  if (x.shape()[at] == 0) throw ShapeError(fmt::format("[{}] no elements: {}", name, to_string(x.shape())));
  Tensor out = Tensor::empty(shape, DType::i64, x.device());
  kernels_of(out).argument_last(extreme, out, x.permute(detail::dims_with_last(x.dim(), at)));
  return out;
}

Tensor argument_of_all(std::string_view name, kernels::Extreme extreme, const Tensor& x) {
  x.require_defined(name);
  if (x.numel() == 0) throw ShapeError(fmt::format("[{}] no elements: {}", name, to_string(x.shape())));
  return argument(name, extreme, x.reshape({x.numel()}), 0, KeepDim::no);
}

// Returns the variance in f64: in f32 the square of a distance is 0 below 3e-23 and infinite above 1.8e19.
Tensor variance(std::string_view name, const Tensor& x, const Axes& axes, double correction, KeepDim keep) {
  x.require_defined(name);
  const Tensor real = x.to(DType::f64);
  const Tensor centre = reduce(name, ReduceOp::mean, real, axes, KeepDim::yes);
  const Tensor squares = square(detail::centred(real, centre, axes));
  const auto summands = static_cast<double>(x.numel()) / static_cast<double>(std::max(centre.numel(), std::int64_t{1}));
  const double divisor = summands > correction ? summands - correction : 0.0;
  return div(reduce(name, ReduceOp::sum, squares, axes, keep), divisor);
}

// Returns the f64 result `x` of an operation on `dtype`, rounded as other results.
Tensor narrowed(const Tensor& x, DType dtype) {
  const DType floating = promote_to_floating(dtype);
  return x.to(compute_dtype(floating)).to(floating);
}

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, all_axes(x)); }
Tensor sum(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("sum", ReduceOp::sum, x, axes, keep); }
Tensor prod(const Tensor& x) { return prod(x, all_axes(x)); }
Tensor prod(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("prod", ReduceOp::prod, x, axes, keep); }
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }
Tensor mean(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("mean", ReduceOp::mean, x, axes, keep); }
Tensor max(const Tensor& x) { return max(x, all_axes(x)); }
Tensor max(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("max", ReduceOp::max, x, axes, keep); }
Tensor min(const Tensor& x) { return min(x, all_axes(x)); }
Tensor min(const Tensor& x, const Axes& axes, KeepDim keep) { return reduce("min", ReduceOp::min, x, axes, keep); }

Tensor argmax(const Tensor& x) { return argument_of_all("argmax", kernels::Extreme::largest, x); }
Tensor argmin(const Tensor& x) { return argument_of_all("argmin", kernels::Extreme::smallest, x); }
Tensor argmax(const Tensor& x, int dim, KeepDim keep) {
  return argument("argmax", kernels::Extreme::largest, x, dim, keep);
}
Tensor argmin(const Tensor& x, int dim, KeepDim keep) {
  return argument("argmin", kernels::Extreme::smallest, x, dim, keep);
}

Tensor any(const Tensor& x) { return any(x, all_axes(x)); }
Tensor any(const Tensor& x, const Axes& axes, KeepDim keep) {
  x.require_defined("any");
  return gt(reduce("any", ReduceOp::sum, x.to(DType::boolean), axes, keep), 0.0);
}
Tensor all(const Tensor& x) { return all(x, all_axes(x)); }
Tensor all(const Tensor& x, const Axes& axes, KeepDim keep) {
  x.require_defined("all");
  return gt(reduce("all", ReduceOp::prod, x.to(DType::boolean), axes, keep), 0.0);
}

Tensor count_nonzero(const Tensor& x) { return count_nonzero(x, all_axes(x)); }
Tensor count_nonzero(const Tensor& x, const Axes& axes, KeepDim keep) {
  x.require_defined("count_nonzero");
  return reduce("count_nonzero", ReduceOp::sum, x.to(DType::boolean), axes, keep);
}

Tensor var(const Tensor& x) { return var(x, all_axes(x)); }
Tensor var(const Tensor& x, const Axes& axes, double correction, KeepDim keep) {
  return narrowed(variance("var", x, axes, correction, keep), x.dtype());
}
Tensor stddev(const Tensor& x) { return stddev(x, all_axes(x)); }
Tensor stddev(const Tensor& x, const Axes& axes, double correction, KeepDim keep) {
  return narrowed(sqrt(variance("stddev", x, axes, correction, keep)), x.dtype());
}

Tensor norm(const Tensor& x, double p) { return norm(x, p, all_axes(x)); }
Tensor norm(const Tensor& x, double p, const Axes& axes, KeepDim keep) {
  constexpr std::string_view kName = "norm";
  x.require_defined(kName);
  if (!(p > 0.0)) throw ValueError(fmt::format("[{}] p not above 0: {}", kName, p));
  const DType dtype = promote_to_floating(x.dtype());
  const Tensor size = abs(x.to(compute_dtype(dtype)));
  if (p == std::numeric_limits<double>::infinity()) return reduce(kName, ReduceOp::max, size, axes, keep).to(dtype);
  if (p == 1.0) return reduce(kName, ReduceOp::sum, size, axes, keep).to(dtype);
  const Tensor total = reduce(kName, ReduceOp::sum, pow(size, p), axes, keep);
  return (p == 2.0 ? sqrt(total) : pow(total, 1.0 / p)).to(dtype);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, KeepDim keep) {
  constexpr std::string_view kName = "logsumexp";
  x.require_defined(kName);
  const DType dtype = promote_to_floating(x.dtype());
  if (x.numel() == 0) {  // an empty sum is 0
    return full(reduced_shape(x.shape(), axis_set(kName, x.shape(), axes), keep),
                -std::numeric_limits<double>::infinity(), dtype, x.device());
  }
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
