// Where the pixels of interpolate come from, and how it is made of other operations: for tensors and for variables (X).
#pragma once

#include <vector>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/image.h"
#include "tensor/ops/index.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {

/// One dimension: pixel i is (1 - share[i]) of part low[i] and share[i] of part high[i], or part low[i] if these are undefined.
struct ResampledDim {
  int dim;
  Tensor low, high;    ///< i64 (size)
  Tensor rest, share;  ///< in the shape that broadcasts to the result; `rest` is 1 - share
};

/// What changes, the last dimension first. Throws as interpolate(). `computed`: the dtype of the shares.
[[nodiscard]] std::vector<ResampledDim> resampled_dims(const Tensor& x, const InterpolateOptions& options, DType computed);

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
