// Arguments of padding operations, checked and by dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/ops/pad.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The number of elements added before and after along one dimension; a negative number removes elements.
struct PadAmounts {
  int dim;
  std::int64_t before;
  std::int64_t after;
};

/// Returns `amounts` by dimension, the last dimension first, without dimensions that do not change.
/// Throws TensorError `[pad] tensor is undefined`, ShapeError `[pad] size below 0: -1`,
/// ValueError `[pad] 3 amounts: two for each of the last dimensions, of 2`.
[[nodiscard]] std::vector<PadAmounts> pad_amounts(const Tensor& x, const std::vector<std::int64_t>& amounts);

/// Returns for each index along the padded dimension the index of its source element: i64 (before + size + after), on
/// the device of `x`. Throws as pad() with a PadMode.
[[nodiscard]] Tensor padded_places(const Tensor& x, int dim, std::int64_t before, std::int64_t after, PadMode mode);

}  // namespace troupe::detail
