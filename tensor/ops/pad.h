// Padding with elements of the tensor itself. Rules as in ops.h; pad() with a constant is in ops/shape.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe {

/// The elements beyond the ends of a dimension, here of 1 2 3.
enum class PadMode : std::uint8_t {
  reflect,    ///< 3 2 |1 2 3| 2 1: mirrored, without the end itself
  replicate,  ///< 1 1 |1 2 3| 3 3: the end again
  circular    ///< 2 3 |1 2 3| 1 2: continued from the other end of what negative amounts leave
};

/// Adds elements before and after along the last dimensions. `amounts` begins with the last dimension, as for pad()
/// with a constant: {left, right, top, bottom}. A negative amount removes elements. Any dtype. Source:
/// torch.nn.functional.pad, here for any number of dimensions.
/// Throws as pad() with a value, and ShapeError `[pad] 3 elements reflected off 3 along dimension 1 of (2, 3)`,
/// `[pad] 4 elements around 3 along dimension 1 of (2, 3)`, `[pad] nothing to repeat along dimension 1 of (2, 0)`.
[[nodiscard]] Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, PadMode mode);

}  // namespace troupe
