#include "tensor/kernels/embedding_bag.h"

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/elements.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/reals.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {

using kernels::Bags;

namespace {

constexpr std::int64_t kPrefetched = 8;         // entries prefetched ahead
constexpr std::int64_t kLineBytes = 64;         // of a cache line
constexpr int kSecondCache = 2;                 // prefetch into the second-level cache: the first tracks few misses
constexpr std::int64_t kTile = 64;              // columns summed at once
constexpr std::int64_t kColumnsPerThread = 16;  // at least, per thread

// Bags with typed addresses.
template <class T>
struct Entries {
  const std::int64_t* index;
  const std::int64_t* offsets;
  const T* scales;  // null: all 1
  std::int64_t padding;
  std::int64_t count;  // number of bags

  explicit Entries(const Bags& bags)
      : index(elements<std::int64_t>(bags.index)),
        offsets(elements<std::int64_t>(bags.offsets)),
        scales(bags.scales.defined() ? elements<T>(bags.scales) : nullptr),
        padding(bags.padding),
        count(bags.count()) {}

  /// Returns the number of entries of all bags.
  [[nodiscard, gnu::always_inline]] std::int64_t total() const { return offsets[count]; }
  [[nodiscard, gnu::always_inline]] bool has(std::int64_t entry) const { return index[entry] != padding; }
  [[nodiscard, gnu::always_inline]] T scale(std::int64_t entry) const {
    return scales == nullptr ? T{1} : scales[entry];
  }
};

// Rows of a table, read as T. Rows of 16 bits are converted into `block`.
template <class T>
struct Rows {
  const std::byte* data;
  DType dtype;
  std::int64_t width;

  explicit Rows(const Tensor& weight) : data(weight.bytes()), dtype(weight.dtype()), width(weight.size(1)) {}

  const T* read(RealBlock<T>& block, std::int64_t row, std::int64_t column, std::int64_t columns) const {
    const std::byte* const from = data + static_cast<std::size_t>(row * width + column) * size_of(dtype);
    if (dtype == dtype_of<T>) return reinterpret_cast<const T*>(from);
    convert({reinterpret_cast<std::byte*>(block.data()), dtype_of<T>, 1}, {from, dtype, 1}, columns);
    return block.data();
  }
  void prefetch(std::int64_t row, std::int64_t column, std::int64_t columns) const {
    const std::byte* const from = data + static_cast<std::size_t>(row * width + column) * size_of(dtype);
    const auto bytes = columns * static_cast<std::int64_t>(size_of(dtype));
    for (std::int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(from + i, 0, kSecondCache);
  }
};

// Calls f(bag, first column, columns) for parts of (bags, width) of at most one block. Parts run in parallel.
template <class F>
void for_each_part(std::int64_t bags, std::int64_t width, std::int64_t entries, const F& f) {
  parallel_for(bags, width * (entries / std::max<std::int64_t>(bags, 1) + 1) * 2,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t bag = begin; bag < end; ++bag) {
                   for (std::int64_t column = 0; column < width; column += kBlockElements) {
                     f(bag, column, std::min(kBlockElements, width - column));
                   }
                 }
               });
}

// Calls f(entry, bag, row, first column, columns) for every entry that is not left out, in order. Each thread handles
// some of the columns.
template <class T, class F>
void for_each_entry(const Entries<T>& entries, std::int64_t width, const F& f) {
  const std::int64_t parts = (width + kColumnsPerThread - 1) / kColumnsPerThread;
  parallel_for(parts, entries.total() * kColumnsPerThread, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t column = begin * kColumnsPerThread;
    const std::int64_t columns = std::min(end * kColumnsPerThread, width) - column;
    for (std::int64_t bag = 0; bag < entries.count; ++bag) {
      for (std::int64_t e = entries.offsets[bag]; e < entries.offsets[bag + 1]; ++e) {
        if (entries.has(e)) f(e, bag, entries.index[e], column, columns);
      }
    }
  });
}

// Sums the rows of one bag in these columns; in registers if their number is a constant.
template <class T, class Columns>
[[gnu::always_inline]] inline void sum_tile(T* to, const T* from, std::int64_t width, Columns columns,
                                            const Entries<T>& at, std::int64_t bag, std::int64_t total) {
  alignas(64) T sums[kTile];
  for (std::int64_t j = 0; j < columns; ++j) sums[j] = T{0};
  for (std::int64_t e = at.offsets[bag]; e < at.offsets[bag + 1]; ++e) {
    if (e + kPrefetched < total) {
      const auto* const ahead = reinterpret_cast<const std::byte*>(from + at.index[e + kPrefetched] * width);
      const auto bytes = static_cast<std::int64_t>(sizeof(T)) * columns;
      for (std::int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(ahead + i, 0, kSecondCache);
    }
    if (!at.has(e)) continue;
    const T* const row = from + at.index[e] * width;
    const T scale = at.scale(e);
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += scale * row[j];
  }
  for (std::int64_t j = 0; j < columns; ++j) to[j] = sums[j];
}

// Computes the sums of bags [begin, end). The rows are stored as T.
template <class T>
void sum_bags(T* to, const T* from, std::int64_t width, const Entries<T>& entries, std::int64_t begin,
              std::int64_t end) {
  vectorized([ to, from, width, at = entries, begin, end, total = entries.total() ]() __attribute__((always_inline)) {
    for (std::int64_t bag = begin; bag < end; ++bag) {
      std::int64_t column = 0;
      for (; column + kTile <= width; column += kTile) {
        sum_tile(to + bag * width + column, from + column, width, std::integral_constant<std::int64_t, kTile>(), at,
                 bag, total);
      }
      if (column < width) sum_tile(to + bag * width + column, from + column, width, width - column, at, bag, total);
    }
  });
}

// to[entry] = scale * from[bag] for the entries of bags [begin, end) that are not left out.
template <class T>
void put_values(T* to, const T* from, std::int64_t width, const Entries<T>& entries, std::int64_t begin,
                std::int64_t end) {
  vectorized([ to, from, width, at = entries, begin, end ]() __attribute__((always_inline)) {
    for (std::int64_t bag = begin; bag < end; ++bag) {
      const T* const g = from + bag * width;
      for (std::int64_t e = at.offsets[bag]; e < at.offsets[bag + 1]; ++e) {
        if (!at.has(e)) continue;
        T* const o = to + e * width;
        if (at.scales == nullptr) {
          std::copy(g, g + width, o);
          continue;
        }
        const T scale = at.scales[e];
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (std::int64_t j = 0; j < width; ++j) o[j] = scale * g[j];
      }
    }
  });
}

void put(Tensor& out, std::byte* to, std::int64_t at, const std::byte* block, DType dtype, std::int64_t count) {
  convert({to + static_cast<std::size_t>(at) * size_of(out.dtype()), out.dtype(), 1}, {block, dtype, 1}, count);
}

void bag_mean_scales(Tensor& scales, const Bags& bags) {
  dispatch_floating("embedding_bag", scales.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(scales);
    const Entries<T> entries(bags);
    for (std::int64_t bag = 0; bag < entries.count; ++bag) {
      std::int64_t counted = 0;
      const std::int64_t last = entries.offsets[bag + 1];
      for (std::int64_t e = entries.offsets[bag]; e < last; ++e) counted += entries.has(e) ? 1 : 0;
      for (std::int64_t e = entries.offsets[bag]; e < last; ++e) to[e] = T{1} / static_cast<T>(counted);
    }
  });
}

void bag_sum(Tensor& out, const Tensor& weight, const Bags& bags) {
  const std::int64_t width = weight.size(1);
  std::byte* const to = out.mutable_bytes();
  dispatch_floating("embedding_bag", weight.dtype(), [&]<class T>(std::type_identity<T>) {
    const Entries<T> entries(bags);
    if (weight.dtype() == dtype_of<T>) {
      parallel_for(entries.count, width * (bags.index.numel() / entries.count + 1) * 2,
                   [&, from = elements<T>(weight)](std::int64_t begin, std::int64_t end) {
                     sum_bags(reinterpret_cast<T*>(to), from, width, entries, begin, end);
                   });
      return;
    }
    const Rows<T> rows(weight);
    for_each_part(
        entries.count, width, bags.index.numel(), [&](std::int64_t bag, std::int64_t column, std::int64_t columns) {
          RealBlock<T> sums;
          RealBlock<T> converted;
          T* const total = sums.data();
          std::fill(total, total + columns, T{0});
          const std::int64_t last = entries.offsets[bag + 1];
          for (std::int64_t e = entries.offsets[bag]; e < last; ++e) {
            if (e + kPrefetched < entries.total()) rows.prefetch(entries.index[e + kPrefetched], column, columns);
            if (!entries.has(e)) continue;
            const T* const row = rows.read(converted, entries.index[e], column, columns);
            vectorized_for(columns,
                           [total, row, scale = entries.scale(e)](std::int64_t j) { total[j] += scale * row[j]; });
          }
          put(out, to, bag * width + column, reinterpret_cast<const std::byte*>(total), dtype_of<T>, columns);
        });
  });
}

void bag_max(Tensor& out, Tensor& where, const Tensor& weight, const Bags& bags) {
  const std::int64_t width = weight.size(1);
  std::byte* const to = out.mutable_bytes();
  std::int64_t* const places = mutable_elements<std::int64_t>(where);
  dispatch_floating("embedding_bag", weight.dtype(), [&]<class T>(std::type_identity<T>) {
    const Entries<T> entries(bags);
    const Rows<T> rows(weight);
    for_each_part(entries.count, width, bags.index.numel(),
                  [&](std::int64_t bag, std::int64_t column, std::int64_t columns) {
                    RealBlock<T> largest_there;
                    RealBlock<T> converted;
                    T* const top = largest_there.data();
                    std::int64_t* const place = places + bag * width + column;
                    std::fill(top, top + columns, T{0});
                    std::fill(place, place + columns, std::int64_t{-1});
                    for (std::int64_t e = entries.offsets[bag]; e < entries.offsets[bag + 1]; ++e) {
                      if (!entries.has(e)) continue;
                      const T* const row = rows.read(converted, entries.index[e], column, columns);
                      vectorized_for(columns, [top, place, row, e](std::int64_t j) {
                        // `x != x` holds only for NaN, which is larger than all.
                        const bool larger = place[j] < 0 || row[j] > top[j] || row[j] != row[j];
                        top[j] = larger ? row[j] : top[j];
                        place[j] = larger ? e : place[j];
                      });
                    }
                    put(out, to, bag * width + column, reinterpret_cast<const std::byte*>(top), dtype_of<T>, columns);
                  });
  });
}

void bag_add(Tensor& out, const Tensor& grad, const Bags& bags) {
  const std::int64_t width = out.size(1);
  dispatch_floating("embedding_bag", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const g = elements<T>(grad);
    const Entries<T> entries(bags);
    for_each_entry(entries, width,
                   [&](std::int64_t e, std::int64_t bag, std::int64_t row, std::int64_t column, std::int64_t columns) {
                     vectorized_for(columns, [o = to + row * width + column, from = g + bag * width + column,
                                              scale = entries.scale(e)](std::int64_t j) { o[j] += scale * from[j]; });
                   });
  });
}

void bag_values(Tensor& values, const Tensor& grad, const Bags& bags) {
  const std::int64_t width = values.size(1);
  dispatch_floating("embedding_bag", values.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(values);
    const T* const g = elements<T>(grad);
    const Entries<T> entries(bags);
    parallel_for(entries.count, width * (values.size(0) / entries.count + 1),
                 [&](std::int64_t begin, std::int64_t end) { put_values(to, g, width, entries, begin, end); });
  });
}

void bag_max_add(Tensor& out, const Tensor& grad, const Tensor& where, const Bags& bags) {
  const std::int64_t width = out.size(1);
  const std::int64_t* const place = elements<std::int64_t>(where);
  const std::int64_t* const index = elements<std::int64_t>(bags.index);
  dispatch_floating("embedding_bag", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const g = elements<T>(grad);
    for (std::int64_t i = 0; i < grad.numel(); ++i) {
      if (place[i] >= 0) to[index[place[i]] * width + i % width] += g[i];
    }
  });
}

void bag_max_values(Tensor& values, const Tensor& grad, const Tensor& where) {
  const std::int64_t width = values.size(1);
  const std::int64_t* const place = elements<std::int64_t>(where);
  dispatch_floating("embedding_bag", values.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(values);
    const T* const g = elements<T>(grad);
    std::fill(to, to + values.numel(), T{0});
    for (std::int64_t i = 0; i < grad.numel(); ++i) {
      if (place[i] >= 0) to[place[i] * width + i % width] = g[i];
    }
  });
}

void bag_scales_backward(Tensor& out, const Tensor& grad, const Tensor& weight, const Bags& bags) {
  const std::int64_t width = weight.size(1);
  dispatch_floating("embedding_bag", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const g = elements<T>(grad);
    const T* const w = elements<T>(weight);
    const Entries<T> entries(bags);
    parallel_for(entries.count, width * (out.numel() / entries.count + 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t bag = begin; bag < end; ++bag) {
        for (std::int64_t e = entries.offsets[bag]; e < entries.offsets[bag + 1]; ++e) {
          to[e] = T{0};
          if (!entries.has(e)) continue;
          to[e] = static_cast<T>(sum_of(
              width, [a = g + bag * width, b = w + entries.index[e] * width](std::int64_t j) { return a[j] * b[j]; }));
        }
      }
    });
  });
}

}  // namespace

const kernels::BagKernels bag_kernels{.bag_mean_scales = bag_mean_scales,
                                      .bag_sum = bag_sum,
                                      .bag_max = bag_max,
                                      .bag_add = bag_add,
                                      .bag_values = bag_values,
                                      .bag_max_add = bag_max_add,
                                      .bag_max_values = bag_max_values,
                                      .bag_scales_backward = bag_scales_backward};

}  // namespace troupe::cpu
