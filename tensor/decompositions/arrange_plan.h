// Arguments with which other operations implement those of ops/arrange.h, for tensors and for variables.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the argument of permute that implements movedim. Throws as movedim.
[[nodiscard]] std::vector<int> moved_dims(const Shape& shape, const Axes& from, const Axes& to);

/// Returns `shape` with dimension `dim` split into `sizes`, for reshape. Throws as unflatten.
[[nodiscard]] Shape unflattened(const Shape& shape, int dim, const Shape& sizes);

/// Returns the index for index_select: every i below `parts`, counts[i] times. Throws as repeat_interleave.
[[nodiscard]] Tensor repeated_places(const Tensor& counts, std::int64_t parts);

/// Returns `counts` with leading ones, at least `rank` numbers, for repeat.
[[nodiscard]] std::vector<std::int64_t> tile_counts(const std::vector<std::int64_t>& counts, int rank);

}  // namespace troupe::detail
