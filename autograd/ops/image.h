// Interpolation, pixel rearrangement and window extraction of images. Shapes, dtypes and errors are those of
// tensor/ops/image.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/image.h"

namespace troupe {

[[nodiscard]] Variable pixel_shuffle(const Variable& x, std::int64_t factor);
[[nodiscard]] Variable pixel_unshuffle(const Variable& x, std::int64_t factor);
[[nodiscard]] Variable interpolate(const Variable& x, const InterpolateOptions& options);
[[nodiscard]] Variable unfold(const Variable& x, const UnfoldOptions& options = {});
[[nodiscard]] Variable fold(const Variable& x, const Size2d& size, const UnfoldOptions& options = {});

}  // namespace troupe
