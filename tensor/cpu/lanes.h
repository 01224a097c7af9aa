// Sums and extremes of elements in a fixed number of lanes, so that the vectors of every processor give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {

/// Returns join(... join(start, of(0)) ..., of(count - 1)), where element i is joined in lane i mod 32 and the lanes
/// are joined pairwise. `of` and `join` should hold numbers by value, as for vectorized().
template <class T, class Of, class Join>
T folded(std::int64_t count, T start, const Of& of, const Join& join) {
  constexpr std::int64_t kLanes = 32;
  T result;
  vectorized([ count, start, of, join, to = &result ]() __attribute__((always_inline)) {
    std::array<T, kLanes> lanes;
    lanes.fill(start);
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        T& total = lanes[static_cast<std::size_t>(lane)];
        total = join(total, of(i + lane));
      }
    }
    for (std::int64_t lane = 0; i < count; ++i, ++lane) {
      T& total = lanes[static_cast<std::size_t>(lane)];
      total = join(total, of(i));
    }
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = join(lanes[lane], lanes[lane + width]);
    }
    *to = lanes[0];
  });
  return result;
}

/// Returns the largest of `count` elements. Skips NaN; -infinity if no other element is left.
template <class T>
T largest(const T* x, std::int64_t count) {
  return folded(
      count, -std::numeric_limits<T>::infinity(), [x](std::int64_t i) { return x[i]; },
      [](T a, T b) { return b > a ? b : a; });
}

/// Returns the sum of f(i) for i < count, in f64.
template <class F>
double sum_of(std::int64_t count, const F& f) {
  return folded(
      count, 0.0, [f](std::int64_t i) { return static_cast<double>(f(i)); }, [](double a, double b) { return a + b; });
}

}  // namespace troupe::cpu
