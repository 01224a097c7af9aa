#include "tensor/cpu/pooling.h"

#include <algorithm>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

/// The sizes that all kernels here run over.
struct Planes {
  Planes(const Tensor& in, const Tensor& out)
      : count(in.size(0) * in.size(1)),
        height(in.size(2)),
        width(in.size(3)),
        rows(out.size(2)),
        columns(out.size(3)) {}
  std::int64_t count, height, width, rows, columns;
};

/// Calls `body(first, last)` for ranges of images of single channels.
template <class Body>
void for_each_plane(const Planes& p, const Body& body) {
  parallel_for(p.count, std::max(p.height * p.width, p.rows * p.columns), body);
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The largest element of each column of some rows, NaN largest of all, and its row.
template <class T>
struct ColumnMaxima {
  explicit ColumnMaxima(std::int64_t width) : value(at(width)), row(at(width)) {}

  void take(const T* plane, std::int64_t width, std::int64_t begin, std::int64_t end, std::int64_t step) {
    T* const best = value.data();
    std::int32_t* const best_row = row.data();
    for (std::int64_t w = 0; w < width; ++w) {
      best[w] = plane[begin * width + w];
      best_row[w] = static_cast<std::int32_t>(begin);
    }
    for (std::int64_t h = begin + step; h < end; h += step) {
      const T* const line = plane + h * width;
      for (std::int64_t w = 0; w < width; ++w) {
        const bool better = !(line[w] <= best[w]) && best[w] == best[w];
        best[w] = better ? line[w] : best[w];
        best_row[w] = better ? static_cast<std::int32_t>(h) : best_row[w];
      }
    }
  }

  /// The column of the largest in [begin, end); of equal ones that of the upper row, then the left.
  [[nodiscard]] std::int64_t largest(std::int64_t begin, std::int64_t end, std::int64_t step) const {
    std::int64_t best = begin;
    for (std::int64_t w = begin + step; w < end; w += step) {
      const T a = value[at(w)];
      const T b = value[at(best)];
      const bool better = (!(a <= b) && b == b) || (a == b && row[at(w)] < row[at(best)]);
      best = better ? w : best;
    }
    return best;
  }

  std::vector<T> value;
  std::vector<std::int32_t> row;
};

template <class T>
void max_pool_of(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  const Planes p(x, y);
  T* const to = mutable_elements<T>(y);
  auto* const places = mutable_elements<std::int32_t>(where_max);
  const T* const from = elements<T>(x);
  for_each_plane(p, [&](std::int64_t first, std::int64_t last) {
    ColumnMaxima<T> maxima(p.width);
    std::int64_t out = first * p.rows * p.columns;
    for (std::int64_t plane = first; plane < last; ++plane) {
      const T* const image = from + plane * p.height * p.width;
      for (std::int64_t i = 0; i < p.rows; ++i) {
        maxima.take(image, p.width, rows.begin[at(i)], rows.end[at(i)], rows.step);
        for (std::int64_t j = 0; j < p.columns; ++j, ++out) {
          const std::int64_t w = maxima.largest(columns.begin[at(j)], columns.end[at(j)], columns.step);
          to[out] = maxima.value[at(w)];
          places[out] = static_cast<std::int32_t>(maxima.row[at(w)] * p.width + w);
        }
      }
    }
  });
}

template <class T>
void avg_pool_of(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  const Planes p(x, y);
  T* const to = mutable_elements<T>(y);
  const T* const from = elements<T>(x);
  for_each_plane(p, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> sums(at(p.width));
    double* const sum = sums.data();
    std::int64_t out = first * p.rows * p.columns;
    for (std::int64_t plane = first; plane < last; ++plane) {
      const T* const image = from + plane * p.height * p.width;
      for (std::int64_t i = 0; i < p.rows; ++i) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t h = rows.begin[at(i)]; h < rows.end[at(i)]; ++h) {
          for (std::int64_t w = 0; w < p.width; ++w) sum[w] += static_cast<double>(image[h * p.width + w]);
        }
        for (std::int64_t j = 0; j < p.columns; ++j, ++out) {
          double total = 0.0;
          for (std::int64_t w = columns.begin[at(j)]; w < columns.end[at(j)]; ++w) total += sum[w];
          to[out] = static_cast<T>(total / static_cast<double>(rows.counted[at(i)] * columns.counted[at(j)]));
        }
      }
    }
  });
}

template <class T>
void avg_pool_backward_of(Tensor& dx, const Tensor& dy, const PoolWindows& rows, const PoolWindows& columns) {
  const Planes p(dx, dy);
  T* const to = mutable_elements<T>(dx);
  const T* const from = elements<T>(dy);
  for_each_plane(p, [&](std::int64_t first, std::int64_t last) {
    std::vector<T> shares(at(p.width));
    T* const share = shares.data();
    std::int64_t in = first * p.rows * p.columns;
    for (std::int64_t plane = first; plane < last; ++plane) {
      T* const image = to + plane * p.height * p.width;
      for (std::int64_t i = 0; i < p.rows; ++i) {
        std::fill(shares.begin(), shares.end(), T{0});
        for (std::int64_t j = 0; j < p.columns; ++j, ++in) {
          const T each = from[in] / static_cast<T>(rows.counted[at(i)] * columns.counted[at(j)]);
          for (std::int64_t w = columns.begin[at(j)]; w < columns.end[at(j)]; ++w) share[w] += each;
        }
        for (std::int64_t h = rows.begin[at(i)]; h < rows.end[at(i)]; ++h) {
          for (std::int64_t w = 0; w < p.width; ++w) image[h * p.width + w] += share[w];
        }
      }
    }
  });
}

}  // namespace

void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("max_pool", y.dtype(), [&]<class T>(std::type_identity<T>) {
    max_pool_of<T>(y, where_max, x, rows, columns);
  });
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  const Planes p(dx, dy);
  dispatch_floating("max_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(dx);
    const T* const from = elements<T>(dy);
    const auto* const places = elements<std::int32_t>(where_max);
    for_each_plane(p, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t windows = p.rows * p.columns;
      for (std::int64_t plane = first; plane < last; ++plane) {
        T* const image = to + plane * p.height * p.width;
        for (std::int64_t i = plane * windows; i < (plane + 1) * windows; ++i) image[places[i]] += from[i];
      }
    });
  });
}

void avg_pool(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("avg_pool", y.dtype(), [&]<class T>(std::type_identity<T>) { avg_pool_of<T>(y, x, rows, columns); });
}

void avg_pool_backward(Tensor& dx, const Tensor& dy, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("avg_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    avg_pool_backward_of<T>(dx, dy, rows, columns);
  });
}

}  // namespace troupe::cpu
