// A walk over several strided operands of one shape, with as few dimensions as possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/shape.h"

namespace troupe::kernels {

/// A shape, and the strides of N operands over it. The last dimension is the row.
template <std::size_t N>
struct Walk {
  int rank = 1;  ///< at least 1
  std::array<std::int64_t, kDimsMax> sizes{};
  std::array<std::array<std::int64_t, N>, kDimsMax> strides{};  ///< [dimension][operand]
  std::int64_t numel = 0;

  [[nodiscard]] const std::array<std::int64_t, N>& row_strides() const {
    return strides[static_cast<std::size_t>(rank - 1)];
  }
};

/// Returns the walk over `shape`. Adjacent dimensions are joined where every operand's strides allow it.
template <std::size_t N>
Walk<N> make_walk(const Shape& shape, const std::array<const Strides*, N>& strides) {
  Walk<N> walk;
  walk.numel = shape.numel();
  int rank = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const auto at = static_cast<std::size_t>(rank);
    bool joins = rank > 0;
    for (std::size_t n = 0; joins && n < N; ++n) joins = walk.strides[at - 1][n] == shape[i] * (*strides[n])[i];
    const std::size_t to = joins ? at - 1 : at;
    walk.sizes[to] = joins ? walk.sizes[to] * shape[i] : shape[i];
    for (std::size_t n = 0; n < N; ++n) walk.strides[to][n] = (*strides[n])[i];
    if (!joins) ++rank;
  }
  if (rank == 0) {
    walk.sizes[0] = 1;
    walk.strides[0] = {};
    rank = 1;
  }
  walk.rank = rank;
  return walk;
}

}  // namespace troupe::kernels
