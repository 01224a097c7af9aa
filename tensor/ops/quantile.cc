#include "tensor/ops/quantile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/compute_watcher.h"
#include "tensor/cpu/parallel.h"
#include "tensor/create.h"
#include "tensor/decompositions/quantile_plan.h"
#include "tensor/dims.h"
#include "tensor/kernels/order_key.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"

namespace troupe {
namespace {

int checked_dim(std::string_view op, const Shape& shape, int dim) {
  const int at = normalize_dim(op, dim, shape);
  if (shape[at] == 0) throw ShapeError(fmt::format("[{}] no elements: {}", op, to_string(shape)));
  return at;
}

Tensor flat(std::string_view op, const Tensor& x) {
  x.require_defined(op);
  return x.reshape({x.numel()});
}

// Drops the dimension `at`, of size 1, unless `keep` says otherwise.
Tensor kept(const Tensor& x, int at, KeepDim keep) { return keep == KeepDim::yes ? x : x.squeeze(at); }

// Returns the index along `at` of the median. `places` is the argsort of `x`, with NaNs last: if there are any, the
// first NaN is the median.
Tensor middle_of(const Tensor& x, const Tensor& places, int at) {
  const std::int64_t middle = (x.shape()[at] - 1) / 2;
  if (!is_floating(x.dtype())) return narrow(places, at, middle, 1);
  const Tensor nans = sum(isnan(x), at, KeepDim::yes);
  const Tensor first_nan = sub(static_cast<double>(x.shape()[at]), nans);
  return gather(places, at,
                where(gt(nans, 0.0), first_nan, full({}, static_cast<double>(middle), DType::i64, x.device())));
}

// Returns the place of the median of a row: of the element that a stable sort puts into the middle, or of the first
// NaN. Finds its key digit by digit, counting the elements that have each digit behind the digits found so far.
template <class T>
std::int64_t middle_place(const T* row, std::int64_t size, std::vector<std::int64_t>& counts) {
  constexpr int kDigit = 11;
  for (std::int64_t i = 0; i < size; ++i) {
    if (row[i] != row[i]) return i;
  }
  int left = static_cast<int>(sizeof(T)) * 8;  // bits of the key that are not found
  std::uint64_t found = 0;                     // those that are
  std::int64_t rank = (size - 1) / 2;          // among the elements whose keys begin with `found`
  for (std::int64_t together = size; together > 1 && left > 0;) {
    const int width = std::min(kDigit, left);
    const int shift = left - width;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    counts.assign(std::size_t{1} << kDigit, 0);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::uint64_t bits = kernels::order_key(row[i]) >> shift;
      counts[bits & mask] += (bits >> width) == found ? 1 : 0;
    }
    std::uint64_t digit = 0;
    for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
    together = counts[digit];
    found = found << width | digit;
    left = shift;
  }
  if (left == static_cast<int>(sizeof(T)) * 8) return 0;  // a row of one element
  std::int64_t at = 0;
  for (;; ++at) {
    if (kernels::order_key(row[at]) >> left == found && rank-- == 0) return at;
  }
}

// The same as middle_of, on the CPU: sorts nothing.
Tensor middle_here(const Tensor& x, int at) {
  const std::vector<int> dims = detail::dims_with_last(x.dim(), at);
  const Tensor rows = x.to(compute_dtype(x.dtype())).permute(dims).contiguous();
  const std::int64_t size = x.shape()[at];
  Shape shape = rows.shape();
  if (shape.size() > 0) shape[shape.size() - 1] = 1;
  Tensor out = Tensor::empty(shape, DType::i64);
  const std::array<const Tensor*, 1> inputs{&rows};
  auto* const to = reinterpret_cast<std::int64_t*>(out.mutable_bytes());
  {
    const WatchedKernel watched("median", inputs);
    dispatch_compute(rows.dtype(), [&]<class T>(std::type_identity<T>) {
      const T* const from = reinterpret_cast<const T*>(rows.bytes());
      cpu::parallel_for(out.numel(), size, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int64_t> counts;
        for (std::int64_t i = begin; i < end; ++i) to[i] = middle_place(from + i * size, size, counts);
      });
    });
  }
  return out.permute(detail::inverse_order(dims)).contiguous();
}

}  // namespace

namespace detail {

int checked_quantile_dim(const Shape& shape, const std::vector<double>& q, int dim) {
  for (const double part : q) {
    if (!(part >= 0.0 && part <= 1.0)) throw ValueError(fmt::format("[quantile] q outside [0, 1]: {}", part));
  }
  return checked_dim("quantile", shape, dim);
}

}  // namespace detail

Tensor median(const Tensor& x) {
  if (x.defined() && x.numel() == 0) throw ShapeError(fmt::format("[median] no elements: {}", to_string(x.shape())));
  return median(flat("median", x), 0).values;
}

Sorted median(const Tensor& x, int dim, KeepDim keep) {
  x.require_defined("median");
  const int at = checked_dim("median", x.shape(), dim);
  constexpr std::int64_t kLong = 128;  // shorter rows are sorted sooner than their digits are counted
  const bool sorts = kernels::on_gpu(x) || x.shape()[at] < kLong;
  const Tensor indices = sorts ? middle_of(x, argsort(x, at), at) : middle_here(x, at);
  return {kept(gather(x, at, indices), at, keep), kept(indices, at, keep)};
}

Tensor quantile(const Tensor& x, double q) { return quantile(flat("quantile", x), q, 0); }

Tensor quantile(const Tensor& x, double q, int dim, KeepDim keep) {
  return quantile(x, std::vector<double>{q}, dim, keep).select(0, 0);
}

Tensor quantile(const Tensor& x, const std::vector<double>& q, int dim, KeepDim keep) {
  x.require_defined("quantile");
  const int at = detail::checked_quantile_dim(x.shape(), q, dim);
  const DType dtype = promote_to_floating(x.dtype());
  const Tensor real = x.to(compute_dtype(dtype));
  return kept(stack(detail::quantiles(real, real, q, at)), at + 1, keep).to(dtype);
}

}  // namespace troupe
