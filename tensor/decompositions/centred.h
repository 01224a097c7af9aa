// Distances from a mean that is rounded.
#pragma once

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns `x` less its mean along `axes`. `mean` is that of ops/reduce.h with KeepDim::yes. It is rounded to the dtype
/// of `x`, and so are large elements: of 1e8 and 1e8 + 8 in f32 the mean is either of the two. The mean of the
/// distances from it is what it lacks.
[[nodiscard]] Tensor centred(const Tensor& x, const Tensor& mean, const Axes& axes);

}  // namespace troupe::detail
