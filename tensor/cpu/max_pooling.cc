#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/pool_rows.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/pooling.h"

namespace troupe::cpu {

using kernels::PoolWindows;

namespace {

// As wide as the elements, so that vectors of both have equally many.
template <class T>
using Offset = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Returns whether `a` at offset `i` replaces `b` at `j`: NaN is largest; of equal numbers the first counts.
template <class T>
[[gnu::always_inline]] inline bool replaces(T a, Offset<T> i, T b, Offset<T> j) {
  return (static_cast<int>(!(a <= b)) & static_cast<int>(b == b)) |
         (static_cast<int>(a == b) & static_cast<int>(i < j));
}

/// The elements of a window along one dimension, `step` apart.
struct ColumnReach {
  std::int64_t begin, end, step;
};

ColumnReach reach_of(const PoolWindows& windows, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return {windows.begin[at], windows.end[at], windows.step};
}

/// Lines of values with their offsets, and the largest element of each window. Memory of one thread.
template <class T>
struct MaxLines {
  T* value;
  Offset<T>* offset;
  T* best;
  Offset<T>* best_offset;
};

/// Finds the largest element of each of `count` columns of `image`, and its offset.
template <class T>
[[gnu::always_inline]] inline void largest_of_columns(T* __restrict value, Offset<T>* __restrict offset,
                                                      const T* __restrict image, std::int64_t width, ColumnReach reach,
                                                      std::int64_t count) {
  const T* __restrict line = image + reach.begin * width;
  const auto first = static_cast<Offset<T>>(reach.begin * width);
  for (std::int64_t w = 0; w < count; ++w) {
    value[w] = line[w];
    offset[w] = first + static_cast<Offset<T>>(w);
  }
  for (std::int64_t h = reach.begin + reach.step; h < reach.end; h += reach.step) {
    line = image + h * width;
    const auto start = static_cast<Offset<T>>(h * width);
    for (std::int64_t w = 0; w < count; ++w) {
      const T a = line[w];
      const T b = value[w];
      const bool better = static_cast<int>(!(a <= b)) & static_cast<int>(b == b);
      value[w] = better ? a : b;
      offset[w] = better ? start + static_cast<Offset<T>>(w) : offset[w];
    }
  }
}

/// best[j] = the largest of `kernel` elements from position j * stride on, `step` apart.
template <class T>
[[gnu::always_inline]] inline void largest_of_windows(MaxLines<T> lines, std::int64_t stride, std::int64_t kernel,
                                                      std::int64_t step, std::int64_t count) {
  const T* __restrict value = lines.value;
  const Offset<T>* __restrict offset = lines.offset;
  T* __restrict best = lines.best;
  Offset<T>* __restrict best_offset = lines.best_offset;
  for (std::int64_t j = 0; j < count; ++j) {
    best[j] = value[j * stride];
    best_offset[j] = offset[j * stride];
  }
  for (std::int64_t tap = 1; tap < kernel; ++tap) {
    for (std::int64_t j = 0; j < count; ++j) {
      const T a = value[j * stride + tap * step];
      const Offset<T> i = offset[j * stride + tap * step];
      const bool better = replaces(a, i, best[j], best_offset[j]);
      best[j] = better ? a : best[j];
      best_offset[j] = better ? i : best_offset[j];
    }
  }
}

/// Returns the offset in the image of the largest element of any window.
template <class T>
std::int64_t largest_in(const T* image, std::int64_t width, const ColumnReach& down, const ColumnReach& across) {
  std::int64_t best = down.begin * width + across.begin;
  for (std::int64_t h = down.begin; h < down.end; h += down.step) {
    for (std::int64_t w = across.begin; w < across.end; w += across.step) {
      const std::int64_t at = h * width + w;
      if (!(image[at] <= image[best]) && image[best] == image[best]) best = at;
    }
  }
  return best;
}

template <class T>
struct MaxPool {
  T* y;
  std::int32_t* where_max;
  const T* x;
  PoolPlanes planes;
  const PoolWindows& rows;
  const PoolWindows& columns;

  void irregular(std::int64_t first, std::int64_t last) const {
    std::int64_t out = first * planes.out_size();
    for (std::int64_t plane = first; plane < last; ++plane) {
      const T* const image = x + plane * planes.in_size();
      for (std::int64_t i = 0; i < planes.rows; ++i) {
        for (std::int64_t j = 0; j < planes.columns; ++j, ++out) {
          const std::int64_t at = largest_in(image, planes.width, reach_of(rows, i), reach_of(columns, j));
          y[out] = image[at];
          where_max[out] = static_cast<std::int32_t>(at);
        }
      }
    }
  }

  void regular(std::int64_t first, std::int64_t last) const {
    const PoolLines lines(columns, planes.width);
    const std::int64_t at_once = lines.lines_at_once(planes.rows);
    // Padding is never chosen: it is not larger than any element, and its offset is the last.
    std::vector<T> value(static_cast<std::size_t>(at_once * lines.length + lines.reach),
                         -std::numeric_limits<T>::infinity());
    std::vector<Offset<T>> offset(value.size(), std::numeric_limits<Offset<T>>::max());
    std::vector<T> best(static_cast<std::size_t>(at_once * lines.slots()));
    std::vector<Offset<T>> best_offset(best.size());
    const MaxLines<T> memory{value.data(), offset.data(), best.data(), best_offset.data()};
    if (lines.stride == 1) take_planes<1>(memory, lines, at_once, first, last);
    else if (lines.stride == 2) take_planes<2>(memory, lines, at_once, first, last);
    else take_planes<0>(memory, lines, at_once, first, last);
  }

  /// kStride: the stride, or 0 if it is known only at run time.
  template <int kStride>
  void take_planes(MaxLines<T> memory, PoolLines lines, std::int64_t at_once, std::int64_t first,
                   std::int64_t last) const {
    vectorized([ pool = *this, memory, lines, at_once, first, last ]() __attribute__((always_inline)) {
      for (std::int64_t plane = first; plane < last; ++plane) {
        for (std::int64_t row = 0; row < pool.planes.rows; row += at_once) {
          pool.template take_rows<kStride>(memory, lines, plane, row, std::min(at_once, pool.planes.rows - row));
        }
      }
    });
  }

  template <int kStride>
  [[gnu::always_inline]] inline void take_rows(MaxLines<T> memory, const PoolLines& lines, std::int64_t plane,
                                               std::int64_t row, std::int64_t count) const {
    const T* const image = x + plane * planes.in_size();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = i * lines.length + lines.at;
      largest_of_columns(memory.value + at, memory.offset + at, image, planes.width, reach_of(rows, row + i),
                         lines.columns);
    }
    largest_of_windows(memory, kStride > 0 ? kStride : lines.stride, lines.kernel, lines.step, count * lines.slots());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t out = plane * planes.out_size() + (row + i) * planes.columns;
      T* __restrict to = y + out;
      std::int32_t* __restrict places = where_max + out;
      const T* __restrict best = memory.best + i * lines.slots();
      const Offset<T>* __restrict offset = memory.best_offset + i * lines.slots();
      for (std::int64_t j = 0; j < planes.columns; ++j) {
        to[j] = best[j];
        places[j] = static_cast<std::int32_t>(offset[j]);
      }
    }
  }
};

void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("max_pool", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(y);
    auto* const places = mutable_elements<std::int32_t>(where_max);
    const MaxPool<T> pool{to, places, elements<T>(x), PoolPlanes(x, y), rows, columns};
    parallel_for(pool.planes.count, pool.planes.in_size(), [&](std::int64_t first, std::int64_t last) {
      PoolLines::serve(columns, pool.planes.width) ? pool.regular(first, last) : pool.irregular(first, last);
    });
  });
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  const PoolPlanes planes(dx, dy);
  dispatch_floating("max_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(dx);
    const T* const from = elements<T>(dy);
    const auto* const places = elements<std::int32_t>(where_max);
    parallel_for(planes.count, planes.in_size(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t plane = first; plane < last; ++plane) {
        T* const image = to + plane * planes.in_size();
        const std::int64_t begin = plane * planes.out_size();
        for (std::int64_t i = begin; i < begin + planes.out_size(); ++i) image[places[i]] += from[i];
      }
    });
  });
}

void max_pool_backward_of_windows(Tensor& dx, const Tensor& dy, const Tensor& where_max, const PoolWindows& /*rows*/,
                                  const PoolWindows& /*columns*/) {
  std::memset(dx.mutable_bytes(), 0, dx.nbytes());
  max_pool_backward(dx, dy, where_max);
}

}  // namespace

const kernels::MaxPoolKernels max_pool_kernels{.max_pool = max_pool,
                                               .max_pool_backward = max_pool_backward,
                                               .max_pool_backward_of_windows = max_pool_backward_of_windows};

}  // namespace troupe::cpu
