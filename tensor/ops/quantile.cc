#include "tensor/ops/quantile.h"

#include <fmt/format.h>

#include <string_view>

#include "tensor/create.h"
#include "tensor/decompositions/quantile_plan.h"
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
  const Tensor indices = middle_of(x, argsort(x, at), at);
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
