#include <algorithm>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/pool_rows.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/pooling.h"

namespace troupe::cpu {

using kernels::PoolWindows;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Returns the divisor of a mean. A double, because with padding the product may exceed 64 bits.
double product(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

/// Returns whether the only window covers the whole image.
bool is_global(const PoolPlanes& p, const PoolWindows& rows, const PoolWindows& columns) {
  return p.out_size() == 1 && rows.begin[0] == 0 && rows.end[0] == p.height && columns.begin[0] == 0 &&
         columns.end[0] == p.width;
}

/// Returns the sum of `count` elements. Element i is added to running sum i mod 8, whatever the vector width.
template <class T>
[[gnu::always_inline]] inline double sum_of(const T* __restrict x, std::int64_t count) {
  double lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += static_cast<double>(x[i + lane]);
  }
  for (int lane = 0; i + lane < count; ++lane) lanes[lane] += static_cast<double>(x[i + lane]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// sums[w] = the sum of rows [begin, end) of column w.
template <class T>
[[gnu::always_inline]] inline void sum_columns(double* __restrict sums, const T* __restrict image, std::int64_t width,
                                               std::int64_t begin, std::int64_t end, std::int64_t count) {
  const T* __restrict line = image + begin * width;
  for (std::int64_t w = 0; w < count; ++w) sums[w] = static_cast<double>(line[w]);
  for (std::int64_t h = begin + 1; h < end; ++h) {
    line += width;
    for (std::int64_t w = 0; w < count; ++w) sums[w] += static_cast<double>(line[w]);
  }
}

/// totals[j] = the sum of `kernel` elements of `sums` from position j * stride on.
[[gnu::always_inline]] inline void sum_windows(double* __restrict totals, const double* __restrict sums,
                                               std::int64_t stride, std::int64_t kernel, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) totals[j] = sums[j * stride];
  for (std::int64_t tap = 1; tap < kernel; ++tap) {
    for (std::int64_t j = 0; j < count; ++j) totals[j] += sums[j * stride + tap];
  }
}

/// Position stride * q + phase of a line is in windows q, q - 1, ...: it gets the sum of their shares. REQUIRES:
/// `shares` is preceded by as many zeros as a window has strides.
template <int kStride, class T>
[[gnu::always_inline]] inline void spread_windows(T* __restrict line, const T* __restrict shares,
                                                  std::int64_t any_stride, std::int64_t kernel, std::int64_t slots) {
  const std::int64_t stride = kStride > 0 ? kStride : any_stride;
  for (std::int64_t i = 0; i < slots * stride; ++i) line[i] = T{0};
  for (std::int64_t back = 0; back * stride < kernel; ++back) {
    const std::int64_t phases = std::min(stride, kernel - back * stride);
    if (phases == kStride) {
      for (std::int64_t q = 0; q < slots; ++q) {
        for (int phase = 0; phase < kStride; ++phase) line[q * kStride + phase] += shares[q - back];
      }
    } else {
      for (std::int64_t phase = 0; phase < phases; ++phase) {
        for (std::int64_t q = 0; q < slots; ++q) line[q * stride + phase] += shares[q - back];
      }
    }
  }
}

/// Returns the factor (f32) or divisor (f64) of a mean: a product in f64 is exact to f32's last digit.
template <class T>
double factor_of(std::int64_t counted) {
  return sizeof(T) == 4 ? 1.0 / static_cast<double>(counted) : static_cast<double>(counted);
}
template <class T>
std::vector<double> factors_of(const std::vector<std::int64_t>& counted) {
  std::vector<double> factors;
  for (const std::int64_t count : counted) factors.push_back(factor_of<T>(count));
  return factors;
}
template <class T>
[[gnu::always_inline]] inline T mean_of(double total, double factor) {
  return static_cast<T>(sizeof(T) == 4 ? total * factor : total / factor);
}

template <class T>
struct AvgPool {
  T* y;
  const T* x;
  PoolPlanes planes;
  const PoolWindows& rows;
  const PoolWindows& columns;

  void global(std::int64_t first, std::int64_t last) const {
    const double divisor = product(rows.counted[0], columns.counted[0]);
    vectorized([ pool = *this, divisor, first, last ]() __attribute__((always_inline)) {
      const std::int64_t size = pool.planes.in_size();
      for (std::int64_t plane = first; plane < last; ++plane) {
        pool.y[plane] = static_cast<T>(sum_of(pool.x + plane * size, size) / divisor);
      }
    });
  }

  void irregular(std::int64_t first, std::int64_t last) const {
    std::vector<double> sums(index(planes.width));
    std::int64_t out = first * planes.out_size();
    for (std::int64_t plane = first; plane < last; ++plane) {
      const T* const image = x + plane * planes.in_size();
      for (std::int64_t i = 0; i < planes.rows; ++i) {
        sum_columns(sums.data(), image, planes.width, rows.begin[index(i)], rows.end[index(i)], planes.width);
        for (std::int64_t j = 0; j < planes.columns; ++j, ++out) {
          double total = 0.0;
          for (std::int64_t w = columns.begin[index(j)]; w < columns.end[index(j)]; ++w) total += sums[index(w)];
          y[out] = static_cast<T>(total / product(rows.counted[index(i)], columns.counted[index(j)]));
        }
      }
    }
  }

  void regular(std::int64_t first, std::int64_t last) const {
    const PoolLines lines(columns, planes.width);
    const std::int64_t at_once = lines.lines_at_once(planes.rows);
    // The padding stays 0.
    std::vector<double> sums(index(at_once * lines.length + lines.reach));
    std::vector<double> totals(index(at_once * lines.slots()));
    const std::vector<double> row_factors = factors_of<T>(rows.counted);
    const std::vector<double> column_factors = factors_of<T>(columns.counted);
    const Memory memory{sums.data(), totals.data(), row_factors.data(), column_factors.data()};
    if (lines.stride == 1) take_planes<1>(memory, lines, at_once, first, last);
    else if (lines.stride == 2) take_planes<2>(memory, lines, at_once, first, last);
    else take_planes<0>(memory, lines, at_once, first, last);
  }

  struct Memory {
    double* sums;
    double* totals;
    const double* row_factors;
    const double* column_factors;
  };

  /// kStride: the stride, or 0 if it is known only at run time.
  template <int kStride>
  void take_planes(Memory memory, PoolLines lines, std::int64_t at_once, std::int64_t first, std::int64_t last) const {
    vectorized([ pool = *this, memory, lines, at_once, first, last ]() __attribute__((always_inline)) {
      for (std::int64_t plane = first; plane < last; ++plane) {
        for (std::int64_t row = 0; row < pool.planes.rows; row += at_once) {
          pool.template take_rows<kStride>(memory, lines, plane, row, std::min(at_once, pool.planes.rows - row));
        }
      }
    });
  }

  template <int kStride>
  [[gnu::always_inline]] inline void take_rows(Memory memory, const PoolLines& lines, std::int64_t plane,
                                               std::int64_t row, std::int64_t count) const {
    const T* const image = x + plane * planes.in_size();
    for (std::int64_t i = 0; i < count; ++i) {
      sum_columns(memory.sums + i * lines.length + lines.at, image, planes.width, rows.begin[index(row + i)],
                  rows.end[index(row + i)], lines.columns);
    }
    sum_windows(memory.totals, memory.sums, kStride > 0 ? kStride : lines.stride, lines.kernel, count * lines.slots());
    for (std::int64_t i = 0; i < count; ++i) {
      T* __restrict to = y + plane * planes.out_size() + (row + i) * planes.columns;
      const double* __restrict totals = memory.totals + i * lines.slots();
      const double* __restrict factors = memory.column_factors;
      const double factor = memory.row_factors[row + i];
      for (std::int64_t j = 0; j < planes.columns; ++j) to[j] = mean_of<T>(totals[j], factor * factors[j]);
    }
  }
};

template <class T>
struct AvgPoolBackward {
  T* dx;
  const T* dy;
  PoolPlanes planes;
  const PoolWindows& rows;
  const PoolWindows& columns;

  void global(std::int64_t first, std::int64_t last) const {
    const T divisor = static_cast<T>(product(rows.counted[0], columns.counted[0]));
    for (std::int64_t plane = first; plane < last; ++plane) {
      const T each = dy[plane] / divisor;
      T* const image = dx + plane * planes.in_size();
      for (std::int64_t i = 0; i < planes.in_size(); ++i) image[i] = each;
    }
  }

  /// Adds a line of gradients to each row of a window.
  [[gnu::always_inline]] inline void add_line(const T* __restrict line, std::int64_t plane, std::int64_t row,
                                              std::int64_t count) const {
    for (std::int64_t h = rows.begin[index(row)]; h < rows.end[index(row)]; ++h) {
      T* __restrict to = dx + plane * planes.in_size() + h * planes.width;
      for (std::int64_t w = 0; w < count; ++w) to[w] += line[w];
    }
  }

  void irregular(std::int64_t first, std::int64_t last) const {
    std::vector<T> line(index(planes.width));
    std::int64_t in = first * planes.out_size();
    for (std::int64_t plane = first; plane < last; ++plane) {
      for (std::int64_t i = 0; i < planes.rows; ++i) {
        std::fill(line.begin(), line.end(), T{0});
        for (std::int64_t j = 0; j < planes.columns; ++j, ++in) {
          const T each = dy[in] / static_cast<T>(product(rows.counted[index(i)], columns.counted[index(j)]));
          for (std::int64_t w = columns.begin[index(j)]; w < columns.end[index(j)]; ++w) line[index(w)] += each;
        }
        add_line(line.data(), plane, i, planes.width);
      }
    }
  }

  void regular(std::int64_t first, std::int64_t last) const {
    const PoolLines lines(columns, planes.width);
    const std::int64_t before = (lines.kernel + lines.stride - 1) / lines.stride;
    std::vector<T> shares(index(before + lines.slots()));
    std::vector<T> line(index(lines.length));
    const std::vector<T> counted(columns.counted.begin(), columns.counted.end());
    const Memory memory{shares.data() + before, line.data(), counted.data()};
    if (lines.stride == 1) take_planes<1>(memory, lines, first, last);
    else if (lines.stride == 2) take_planes<2>(memory, lines, first, last);
    else take_planes<0>(memory, lines, first, last);
  }

  struct Memory {
    T* shares;
    T* line;
    const T* counted;
  };

  template <int kStride>
  void take_planes(Memory memory, PoolLines lines, std::int64_t first, std::int64_t last) const {
    vectorized([ pool = *this, memory, lines, first, last ]() __attribute__((always_inline)) {
      for (std::int64_t plane = first; plane < last; ++plane) {
        for (std::int64_t i = 0; i < pool.planes.rows; ++i) pool.template take_row<kStride>(memory, lines, plane, i);
      }
    });
  }

  template <int kStride>
  [[gnu::always_inline]] inline void take_row(Memory memory, const PoolLines& lines, std::int64_t plane,
                                              std::int64_t i) const {
    T* __restrict shares = memory.shares;
    const T* __restrict from = dy + plane * planes.out_size() + i * planes.columns;
    const T* __restrict counted = memory.counted;
    const T times = static_cast<T>(rows.counted[index(i)]);
    for (std::int64_t j = 0; j < planes.columns; ++j) shares[j] = from[j] / (times * counted[j]);
    spread_windows<kStride>(memory.line, shares, lines.stride, lines.kernel, lines.slots());
    add_line(memory.line + lines.at, plane, i, lines.columns);
  }
};

/// Runs the fastest variant for these windows over all planes.
template <class Pool>
void run(const Pool& pool) {
  const bool global = is_global(pool.planes, pool.rows, pool.columns);
  parallel_for(pool.planes.count, pool.planes.in_size(), [&](std::int64_t first, std::int64_t last) {
    if (global) pool.global(first, last);
    else if (PoolLines::serve(pool.columns, pool.planes.width)) pool.regular(first, last);
    else pool.irregular(first, last);
  });
}

void avg_pool(Tensor& y, const Tensor& x, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("avg_pool", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(y);
    run(AvgPool<T>{to, elements<T>(x), PoolPlanes(x, y), rows, columns});
  });
}

void avg_pool_backward(Tensor& dx, const Tensor& dy, const PoolWindows& rows, const PoolWindows& columns) {
  dispatch_floating("avg_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(dx);
    run(AvgPoolBackward<T>{to, elements<T>(dy), PoolPlanes(dx, dy), rows, columns});
  });
}

}  // namespace

const kernels::AvgPoolKernels avg_pool_kernels{.avg_pool = avg_pool, .avg_pool_backward = avg_pool_backward};

}  // namespace troupe::cpu
