// Walks over several strided operands of one shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/walk.h"

namespace troupe::cpu {

/// Calls `row(offsets, count)` for stretches of rows that cover elements [begin, end) of the walk in order. `offsets`
/// holds the offset of the stretch's first element in each operand; within the stretch the offsets grow by
/// `walk.row_strides()`.
template <std::size_t N, class Row>
void walk_range(const kernels::Walk<N>& walk, std::int64_t begin, std::int64_t end, const Row& row) {
  if (begin >= end) return;
  const auto inner = static_cast<std::size_t>(walk.rank - 1);
  std::array<std::int64_t, kDimsMax> index{};
  std::array<std::int64_t, N> offsets{};
  std::int64_t rest = begin;
  for (std::size_t d = inner + 1; d-- > 0; rest /= walk.sizes[d]) {
    index[d] = rest % walk.sizes[d];
    for (std::size_t n = 0; n < N; ++n) offsets[n] += index[d] * walk.strides[d][n];
  }
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t count = std::min(walk.sizes[inner] - index[inner], end - at);
    row(offsets, count);
    at += count;
    // To the last element of the stretch, then one further, carrying into the outer dimensions.
    index[inner] += count - 1;
    for (std::size_t n = 0; n < N; ++n) offsets[n] += (count - 1) * walk.strides[inner][n];
    for (std::size_t d = inner + 1; d-- > 0;) {
      for (std::size_t n = 0; n < N; ++n) offsets[n] += walk.strides[d][n];
      if (++index[d] < walk.sizes[d]) break;
      for (std::size_t n = 0; n < N; ++n) offsets[n] -= walk.sizes[d] * walk.strides[d][n];
      index[d] = 0;
    }
  }
}

/// As walk_range over all elements, but several stretches run in parallel if numel * cost is large. REQUIRES: `row`
/// does not throw.
template <std::size_t N, class Row>
void for_each_row(const kernels::Walk<N>& walk, const Row& row, std::int64_t cost = 1) {
  parallel_for(walk.numel, cost, [&](std::int64_t begin, std::int64_t end) { walk_range(walk, begin, end, row); });
}

/// out[i] = f(a[i]) over a walk of two operands.
template <class R, class T, class F>
void map_rows(const kernels::Walk<2>& walk, R* out, const T* a, const F& f) {
  const auto [so, sa] = walk.row_strides();
  for_each_row(walk, [&, so = so, sa = sa](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    R* const o = out + at[0];
    const T* const x = a + at[1];
    if (so == 1 && sa == 1) {
      vectorized_for(count, [=](std::int64_t i) { o[i] = f(x[i]); });
    } else {
      for (std::int64_t i = 0; i < count; ++i) o[i * so] = f(x[i * sa]);
    }
  });
}

/// out[i] = f(a[i], b[i]) over a walk of three operands.
template <class R, class T, class F>
void map_rows(const kernels::Walk<3>& walk, R* out, const T* a, const T* b, const F& f) {
  const auto [so, sa, sb] = walk.row_strides();
  for_each_row(walk, [&, so = so, sa = sa, sb = sb](const std::array<std::int64_t, 3>& at, std::int64_t count) {
    R* const o = out + at[0];
    const T* const x = a + at[1];
    const T* const y = b + at[2];
    if (so == 1 && sa == 1 && sb == 1) {
      vectorized_for(count, [=](std::int64_t i) { o[i] = f(x[i], y[i]); });
    } else if (so == 1 && sa == 1 && sb == 0) {
      const T same = *y;
      vectorized_for(count, [=](std::int64_t i) { o[i] = f(x[i], same); });
    } else if (so == 1 && sa == 0 && sb == 1) {
      const T same = *x;
      vectorized_for(count, [=](std::int64_t i) { o[i] = f(same, y[i]); });
    } else {
      for (std::int64_t i = 0; i < count; ++i) o[i * so] = f(x[i * sa], y[i * sb]);
    }
  });
}

}  // namespace troupe::cpu
