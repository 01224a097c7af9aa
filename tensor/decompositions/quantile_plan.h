// Quantiles composed of other operations, for tensors and for variables.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/sort.h"

namespace troupe::detail {

/// Returns `dim` counted from the front. Throws as quantile.
[[nodiscard]] int checked_quantile_dim(const Shape& shape, const std::vector<double>& q, int dim);

/// Returns one quantile of `x` along dimension `at` for each q, with size 1 there. X: Tensor or Variable, which have
/// operations of the same names. REQUIRES: `x` has its compute_dtype; `values` is the tensor of `x`.
template <class X>
[[nodiscard]] std::vector<X> quantiles(const X& x, const Tensor& values, const std::vector<double>& q, int at) {
  const std::int64_t count = values.shape()[at];
  const Tensor has_nan = any(isnan(values), at, KeepDim::yes);
  const X sorted = sort(x, at).values;
  const X last = narrow(sorted, at, count - 1, 1);  // NaN if the line has one
  std::vector<X> results;
  for (const double part : q) {
    const double place = part * static_cast<double>(count - 1);
    const auto below = static_cast<std::int64_t>(std::floor(place));
    const double weight = place - std::floor(place);
    X result = narrow(sorted, at, below, 1);
    if (weight > 0.0) {
      // Interpolates from the nearer end, as torch does.
      const X above = narrow(sorted, at, below + 1, 1);
      const X distance = sub(above, result);
      result = weight < 0.5 ? add(result, mul(distance, weight)) : sub(above, mul(distance, 1.0 - weight));
    }
    results.push_back(where(has_nan, last, result));
  }
  return results;
}

}  // namespace troupe::detail
