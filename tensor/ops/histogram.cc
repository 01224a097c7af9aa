#include "tensor/ops/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/scan.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/sort.h"

namespace troupe {
namespace {

/// `width` is `high` minus `low`, above 0 also where that difference is below their last digit.
struct Range {
  double low;
  double high;
  double width;
};

/// Returns the range in numbers of the dtype of `x`, in which the bins are computed.
Range range_of(const Tensor& x, double low, double high) {
  constexpr std::string_view kName = "histc";
  if (low > high) throw ValueError(fmt::format("[{}] low above high: {} > {}", kName, low, high));
  const auto rounded = [&](double number) { return full({}, number, x.dtype()).item(); };
  Range range{rounded(low), rounded(high), 0.0};
  if (range.low == range.high && x.numel() > 0) range = {min(x).item(), max(x).item(), 0.0};
  range.width = rounded(range.high - range.low);
  if (range.low == range.high) range = {range.low - 1.0, range.high + 1.0, 2.0};
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || !std::isfinite(range.width)) {
    throw ValueError(fmt::format("[{}] range is not finite: [{}, {}]", kName, range.low, range.high));
  }
  return range;
}

// Returns `shape` without the last dimension.
Shape without_last(Shape shape) {
  shape.erase(shape.size() - 1);
  return shape;
}

Tensor search(std::string_view op, const Tensor& sorted, const Tensor& values, Side side) {
  detail::require_together(op, sorted, values);
  const bool one_row = sorted.dim() == 1;
  if (sorted.dim() == 0 ||
      (!one_row && (values.dim() == 0 || without_last(sorted.shape()) != without_last(values.shape())))) {
    throw ShapeError(
        fmt::format("[{}] rows differ: {} and {}", op, to_string(sorted.shape()), to_string(values.shape())));
  }
  const DType dtype = compute_dtype(promote(sorted.dtype(), values.dtype()));
  const std::int64_t rows = one_row ? 1 : without_last(sorted.shape()).numel();
  const std::int64_t columns = rows == 0 ? 0 : values.numel() / rows;
  Tensor out = Tensor::empty(values.shape(), DType::i64, values.device());
  Tensor target = out.view({rows, columns});
  kernels_of(target).search(target, sorted.to(dtype).contiguous().view({rows, sorted.size(-1)}),
                            values.to(dtype).contiguous().view({rows, columns}), side);
  return out;
}

}  // namespace

Unique unique(const Tensor& x) {
  x.require_defined("unique");
  const Tensor flat = x.reshape({x.numel()});
  if (x.numel() == 0)
    return {flat.clone(), zeros(x.shape(), DType::i64, x.device()), zeros({0}, DType::i64, x.device())};
  const Sorted sorted = sort(flat);
  const Tensor changes = ne(sorted.values.slice(0, 1), sorted.values.slice(0, 0, x.numel() - 1));
  const Tensor is_first = concat({ones({1}, DType::boolean, x.device()), changes});
  const Tensor group = sub(cumsum(is_first, 0), 1.0);
  return {masked_select(sorted.values, is_first), scatter(group, 0, sorted.indices, group).view(x.shape()),
          bincount(group)};
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t minlength) {
  constexpr std::string_view kName = "bincount";
  x.require_defined(kName);
  detail::require_rank(kName, x.shape(), 1);
  if (is_floating(x.dtype()) || x.dtype() == DType::boolean)
    throw DTypeError(fmt::format("[{}] not integers: {}", kName, name_of(x.dtype())));
  if (minlength < 0) throw ValueError(fmt::format("[{}] minlength below 0: {}", kName, minlength));
  if (weights.defined()) {
    detail::require_together(kName, x, weights);
    detail::require_same_shape(kName, x, weights);
  }
  const DType dtype = !weights.defined() ? DType::i64 : weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  if (x.numel() == 0) return zeros({minlength}, dtype, x.device());
  const auto least = min(x).item<std::int64_t>();
  if (least < 0) throw ValueError(fmt::format("[{}] negative: {}", kName, least));
  const Tensor out = zeros({std::max(detail::count_to_largest(kName, x), minlength)}, dtype, x.device());
  return index_add(out, 0, x.to(DType::i64),
                   weights.defined() ? weights.to(dtype) : ones(x.shape(), dtype, x.device()));
}

Tensor histc(const Tensor& x, std::int64_t bins, double low, double high) {
  constexpr std::string_view kName = "histc";
  x.require_defined(kName);
  if (!is_floating(x.dtype())) throw DTypeError(fmt::format("[{}] not floating point: {}", kName, name_of(x.dtype())));
  if (bins < 1) throw ValueError(fmt::format("[{}] bins below 1: {}", kName, bins));
  const Tensor flat = x.to(compute_dtype(x.dtype())).reshape({x.numel()});
  const Range range = range_of(flat, low, high);
  const Tensor inside = logical_and(ge(flat, range.low), le(flat, range.high));
  // Divides first, as PyTorch: the product of a distance and `bins` may overflow.
  const Tensor places = mul(div(sub(flat, range.low), range.width), static_cast<double>(bins));
  // Clamps the upper end, which would be in bin `bins`, into the last bin, as an integer: f32 does not hold every
  // number of a bin. Elements outside add 0 to an arbitrary bin.
  const Tensor bin =
      clamp(masked_fill(places, logical_not(inside), 0.0).to(DType::i64), 0.0, static_cast<double>(bins - 1));
  return index_add(zeros({bins}, DType::i64, x.device()), 0, bin, inside.to(DType::i64)).to(x.dtype());
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, Side side) {
  return search("searchsorted", sorted, values, side);
}

Tensor bucketize(const Tensor& x, const Tensor& boundaries, Side side) {
  boundaries.require_defined("bucketize");
  detail::require_rank("bucketize", boundaries.shape(), 1);
  return search("bucketize", boundaries, x, side);
}

}  // namespace troupe
