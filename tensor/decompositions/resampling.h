// Interpolation composed of other operations, for tensors and for variables (X): source pixels and their weights.
#pragma once

#include <vector>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/image.h"
#include "tensor/ops/index.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {

/// Resampling along one dimension: pixel i is (1 - share[i]) * x[low[i]] + share[i] * x[high[i]], where x[k] is part k
/// along `dim`; it is x[low[i]] if `high` is undefined.
struct ResampledDim {
  int dim;
  Tensor low, high;    ///< i64 (size)
  Tensor rest, share;  ///< in the shape that broadcasts to the result; `rest` is 1 - share
};

/// Returns the dimensions that change, the last one first; the shares have dtype `computed`. Throws as interpolate().
[[nodiscard]] std::vector<ResampledDim> resampled_dims(const Tensor& x, const InterpolateOptions& options,
                                                       DType computed);

template <class X>
X resample(const X& x, const std::vector<ResampledDim>& dims) {
  X y = x;
  for (const ResampledDim& d : dims) {
    const X low = index_select(y, d.dim, d.low);
    y = d.high.defined() ? add(mul(low, X(d.rest)), mul(index_select(y, d.dim, d.high), X(d.share))) : low;
  }
  return y;
}

}  // namespace troupe::detail
