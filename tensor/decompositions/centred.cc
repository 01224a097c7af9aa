#include "tensor/decompositions/centred.h"

#include <utility>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {

Tensor centred(const Tensor& x, const Tensor& mean, const Axes& axes) {
  Tensor distances = sub(x, mean);
  const Tensor lacking = troupe::mean(distances, axes, KeepDim::yes);
  // Distances beyond the dtype's range are infinite, and the others would become so.
  return sub(std::move(distances), where(isfinite(lacking), lacking, zeros_like(lacking)));
}

}  // namespace troupe::detail
