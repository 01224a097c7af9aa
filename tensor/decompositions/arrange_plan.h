// What operations of ops/arrange.h are on tensors and on variables alike: other operations, with these arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The order of dimensions that movedim gives to permute. Throws as movedim.
[[nodiscard]] std::vector<int> moved_dims(const Shape& shape, const Axes& from, const Axes& to);

/// `shape` with dimension `dim` cut up into `sizes`, for reshape. Throws as unflatten.
[[nodiscard]] Shape unflattened(const Shape& shape, int dim, const Shape& sizes);

/// For index_select: each place below `parts` as often as `counts` says. Throws as repeat_interleave.
[[nodiscard]] Tensor repeated_places(const Tensor& counts, std::int64_t parts);

/// For repeat: `counts` with ones in front, one for each of `rank` dimensions at least.
[[nodiscard]] std::vector<std::int64_t> tile_counts(const std::vector<std::int64_t>& counts, int rank);

}  // namespace troupe::detail
