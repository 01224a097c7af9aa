// Values around a tensor that are taken from it. Rules as in ops.h; pad() with one value is in ops/shape.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe {

/// What stands around 1 2 3: beyond the last dimension's ends
enum class PadMode : std::uint8_t {
  reflect,    ///< 3 2 |1 2 3| 2 1: mirrored, without the end itself
  replicate,  ///< 1 1 |1 2 3| 3 3: the end again
  circular    ///< 2 3 |1 2 3| 1 2: from the other end on
};

/// Elements before and after along the last dimensions, from the last on, `amounts` as for pad() with a value: {left,
/// right, top, bottom}. A negative amount cuts off. Any dtype. Source: torch.nn.functional.pad, for any number of
/// dimensions.
/// Throws as pad() with a value, and ShapeError `[pad] 3 elements reflected off 3 along dimension 1 of (2, 3)`,
/// `[pad] 4 elements around 3 along dimension 1 of (2, 3)`, `[pad] nothing to repeat along dimension 1 of (2, 0)`.
[[nodiscard]] Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, PadMode mode);

}  // namespace troupe
