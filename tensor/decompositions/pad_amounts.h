// What the operations that pad share.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/ops/pad.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// How many elements come before and after along one dimension; negative ones are cut off.
struct PadAmounts {
  int dim;
  std::int64_t before;
  std::int64_t after;
};

/// `amounts` by dimension, the last one first, without those that change nothing. Throws TensorError `[pad] tensor is undefined`, ValueError `[pad] 3
/// amounts: two for each of the last dimensions, of 2`, ShapeError `[pad] size below 0: -1`.
[[nodiscard]] std::vector<PadAmounts> pad_amounts(const Tensor& x, const std::vector<std::int64_t>& amounts);

/// For each place along a dimension that is padded, where its value comes from, i64 (before + size + after), on x's device.
/// Throws what pad() with a PadMode throws.
[[nodiscard]] Tensor padded_places(const Tensor& x, int dim, std::int64_t before, std::int64_t after, PadMode mode);

}  // namespace troupe::detail
