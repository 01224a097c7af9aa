// One tensor in every layout that GPU kernels must read.
#pragma once

#include <vector>

#include "tensor/create.h"
#include "tensor/ops/shape.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Returns the values of `x` (a, b, c) in several layouts: as given, transposed in memory, with gaps, from an odd
/// offset.
inline std::vector<Tensor> layouts_of(const Tensor& x) {
  const Tensor turned = x.permute({2, 0, 1}).clone().permute({1, 2, 0});
  Tensor wide = zeros({x.size(0), x.size(1), 2 * x.size(2) + 1}, x.dtype(), x.device());
  Tensor gaps = wide.slice(2, 0, 2 * x.size(2), 2);
  gaps.copy_from(x);
  Tensor tall = zeros({x.size(0) + 1, x.size(1), x.size(2)}, x.dtype(), x.device());
  Tensor later = tall.slice(0, 1);
  later.copy_from(x);
  return {x, turned, gaps, later};
}

}  // namespace troupe::testing
