#include "tensor/ops/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "tensor/compute_watcher.h"
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

// Returns how often each of 0 ... size - 1 is in `places`. REQUIRES: `places` is contiguous i64, all of it inside.
Tensor counts_of(const Tensor& places, std::int64_t size) {
  Tensor counts = zeros({size}, DType::i64, places.device());
  if (kernels::on_gpu(places)) return index_add(counts, 0, places, ones(places.shape(), DType::i64, places.device()));
  const std::array<const Tensor*, 1> inputs{&places};
  const WatchedKernel watched("bincount", inputs);
  auto* const to = reinterpret_cast<std::int64_t*>(counts.mutable_bytes());
  const auto* const from = reinterpret_cast<const std::int64_t*>(places.bytes());
  for (std::int64_t i = 0; i < places.numel(); ++i) ++to[from[i]];
  return counts;
}

// The distinct elements of the 1-D `flat`; `inverse` is 1-D too. REQUIRES: there are elements.
Unique unique_by_operations(const Tensor& flat) {
  const Sorted sorted = sort(flat);
  const Tensor changes = ne(sorted.values.slice(0, 1), sorted.values.slice(0, 0, flat.numel() - 1));
  const Tensor is_first = concat({ones({1}, DType::boolean, flat.device()), changes});
  const Tensor group = sub(cumsum(is_first, 0), 1.0);
  return {masked_select(sorted.values, is_first), scatter(group, 0, sorted.indices, group), bincount(group)};
}

// The same on the CPU: one walk over the sorted places finds the groups.
Unique unique_of_sorted(const Tensor& flat) {
  const Tensor wide = flat.to(compute_dtype(flat.dtype())).contiguous();
  const Tensor sorted = argsort(wide);
  const auto* const places = reinterpret_cast<const std::int64_t*>(sorted.bytes());
  Tensor inverse = Tensor::empty(flat.shape(), DType::i64);
  auto* const to = reinterpret_cast<std::int64_t*>(inverse.mutable_bytes());
  std::vector<std::int64_t> begins;  // of each group among the sorted elements
  const std::array<const Tensor*, 2> inputs{&wide, &sorted};
  const WatchedKernel watched("unique", inputs);
  dispatch_compute(wide.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const x = reinterpret_cast<const T*>(wide.bytes());
    T last{};
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const T value = x[places[i]];
      if (i == 0 || value != last) begins.push_back(i);  // NaN differs from NaN
      last = value;
      to[places[i]] = static_cast<std::int64_t>(begins.size()) - 1;
    }
  });
  const Tensor starts = from_values<std::int64_t>(begins, {static_cast<std::int64_t>(begins.size())});
  const Tensor ends = concat({starts.slice(0, 1), full({1}, static_cast<double>(flat.numel()), DType::i64)});
  return {index_select(flat, 0, index_select(sorted, 0, starts)), inverse, sub(ends, starts)};
}

// The same of integers that span at most as many numbers as there are elements: counts them, and sorts nothing.
Unique unique_of_few(const Tensor& flat, std::int64_t least, std::int64_t span) {
  const Tensor wide = flat.to(DType::i64).contiguous();
  const auto* const x = reinterpret_cast<const std::int64_t*>(wide.bytes());
  const std::array<const Tensor*, 1> inputs{&wide};
  const WatchedKernel watched("unique", inputs);
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(span), 0);  // first how many there are of each number
  for (std::int64_t i = 0; i < flat.numel(); ++i) ++ranks[static_cast<std::size_t>(x[i] - least)];
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < span; ++i) {
    std::int64_t& rank = ranks[static_cast<std::size_t>(i)];
    if (rank == 0) continue;
    counts.push_back(rank);
    rank = static_cast<std::int64_t>(values.size());
    values.push_back(least + i);
  }
  Tensor inverse = Tensor::empty(flat.shape(), DType::i64);
  auto* const to = reinterpret_cast<std::int64_t*>(inverse.mutable_bytes());
  for (std::int64_t i = 0; i < flat.numel(); ++i) to[i] = ranks[static_cast<std::size_t>(x[i] - least)];
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return {from_values<std::int64_t>(values, shape).to(flat.dtype()), inverse, from_values<std::int64_t>(counts, shape)};
}

Unique unique_here(const Tensor& flat) {
  if (is_floating(flat.dtype())) return unique_of_sorted(flat);
  const auto least = min(flat).item<std::int64_t>();
  const auto steps = static_cast<std::uint64_t>(max(flat).item<std::int64_t>()) - static_cast<std::uint64_t>(least);
  if (steps >= static_cast<std::uint64_t>(flat.numel())) return unique_of_sorted(flat);
  return unique_of_few(flat, least, static_cast<std::int64_t>(steps) + 1);
}

// Returns `counts` with the elements of `x` added to their bins, computed as count_bins does.
Tensor add_bins(const Tensor& counts, const Tensor& x, const Range& range) {
  const auto bins = static_cast<double>(counts.numel());
  const Tensor inside = logical_and(ge(x, range.low), le(x, range.high));
  const Tensor places = mul(div(sub(x, range.low), range.width), bins);
  // Elements outside add 0 to an arbitrary bin.
  const Tensor bin = clamp(masked_fill(places, logical_not(inside), 0.0).to(DType::i64), 0.0, bins - 1.0);
  return index_add(counts, 0, bin, inside.to(DType::i64));
}

// Adds the elements of `x` to `counts`. Divides first, as PyTorch: the product of a distance and the number of bins
// may overflow. The upper end, which would be in the bin after the last, is clamped into the last as an integer: f32
// does not hold every number of a bin.
template <class T>
void count_bins(std::int64_t* counts, std::int64_t bins, const T* x, std::int64_t size, const Range& range) {
  const T low = static_cast<T>(range.low);
  const T high = static_cast<T>(range.high);
  const T width = static_cast<T>(range.width);
  const T count = static_cast<T>(bins);
  for (std::int64_t i = 0; i < size; ++i) {
    const bool inside = x[i] >= low && x[i] <= high;
    const auto bin = inside ? static_cast<std::int64_t>((x[i] - low) / width * count) : std::int64_t{0};
    counts[std::min(bin, bins - 1)] += inside ? 1 : 0;
  }
}

}  // namespace

Unique unique(const Tensor& x) {
  x.require_defined("unique");
  const Tensor flat = x.reshape({x.numel()});
  if (x.numel() == 0)
    return {flat.clone(), zeros(x.shape(), DType::i64, x.device()), zeros({0}, DType::i64, x.device())};
  Unique found = kernels::on_gpu(x) ? unique_by_operations(flat) : unique_here(flat);
  found.inverse = found.inverse.view(x.shape());
  return found;
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
  const std::int64_t size = std::max(detail::count_to_largest(kName, x), minlength);
  const Tensor places = x.to(DType::i64).contiguous();
  if (!weights.defined()) return counts_of(places, size);
  return index_add(zeros({size}, dtype, x.device()), 0, places, weights.to(dtype));
}

Tensor histc(const Tensor& x, std::int64_t bins, double low, double high) {
  constexpr std::string_view kName = "histc";
  x.require_defined(kName);
  if (!is_floating(x.dtype())) throw DTypeError(fmt::format("[{}] not floating point: {}", kName, name_of(x.dtype())));
  if (bins < 1) throw ValueError(fmt::format("[{}] bins below 1: {}", kName, bins));
  const Tensor flat = x.to(compute_dtype(x.dtype())).reshape({x.numel()}).contiguous();
  const Range range = range_of(flat, low, high);
  Tensor counts = zeros({bins}, DType::i64, x.device());
  if (kernels::on_gpu(x)) return add_bins(counts, flat, range).to(x.dtype());
  const std::array<const Tensor*, 1> inputs{&flat};
  const WatchedKernel watched(kName, inputs);
  dispatch_floating(kName, flat.dtype(), [&]<class T>(std::type_identity<T>) {
    count_bins(reinterpret_cast<std::int64_t*>(counts.mutable_bytes()), bins, reinterpret_cast<const T*>(flat.bytes()),
               flat.numel(), range);
  });
  return counts.to(x.dtype());
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
