#include "tensor/kernels/coalesce.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {
namespace {

constexpr int kDigitBits = 11;              // at most: a digit's counts fit into the first-level cache
constexpr std::int64_t kRowsAhead = 8;      // rows prefetched ahead
constexpr std::size_t kLineBytes = 64;      // of a cache line
constexpr std::size_t kFetchedBytes = 512;  // prefetched of a row at most; the processor prefetches the rest

/// Returns the row indices sorted by number, with a radix sort from the least significant digit. Equal numbers keep
/// their order.
Tensor sorted(const Tensor& numbers, std::int64_t limit) {
  const std::int64_t count = numbers.numel();
  const auto* const number = elements<std::int64_t>(numbers);
  const int all = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(limit - 1, 1))));
  // Few numbers use more and smaller digits, whose counts are quick to clear.
  const int most = std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))), 4, kDigitBits);
  const int passes = (all + most - 1) / most;
  const int bits = (all + passes - 1) / passes;
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
  const auto digit = [=](std::int64_t row, int pass) {
    return (static_cast<std::uint64_t>(number[row]) >> static_cast<unsigned>(pass * bits)) & mask;
  };
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(passes), std::vector<std::int64_t>(mask + 1));
  for (std::int64_t row = 0; row < count; ++row) {
    for (int pass = 0; pass < passes; ++pass) ++places[static_cast<std::size_t>(pass)][digit(row, pass)];
  }
  Tensor now = Tensor::empty({count}, DType::i64);
  Tensor next = Tensor::empty({count}, DType::i64);
  std::iota(mutable_elements<std::int64_t>(now), mutable_elements<std::int64_t>(now) + count, std::int64_t{0});
  for (int pass = 0; pass < passes; ++pass) {
    std::int64_t* const place = places[static_cast<std::size_t>(pass)].data();
    std::exclusive_scan(place, place + mask + 1, place, std::int64_t{0});
    auto* const to = mutable_elements<std::int64_t>(next);
    const auto* const rows = elements<std::int64_t>(now);
    for (std::int64_t i = 0; i < count; ++i) to[place[digit(rows[i], pass)]++] = rows[i];
    std::swap(now, next);
  }
  return now;
}

/// The operands of sum_runs.
template <class T>
struct Rows {
  T* to;
  const T* from;
  const std::int64_t* begins;
  const std::int64_t* order;
  std::int64_t count;
  std::int64_t width;
};

template <class T>
void sum_range(const Rows<T>& rows, std::int64_t first, std::int64_t last) {
  vectorized([ at = rows, first, last ]() __attribute__((always_inline)) {
    const auto fetched = std::min(static_cast<std::size_t>(at.width) * sizeof(T), kFetchedBytes);
    for (std::int64_t run = first; run < last; ++run) {
      T* const to = at.to + run * at.width;
      for (std::int64_t e = at.begins[run]; e < at.begins[run + 1]; ++e) {
        if (e + kRowsAhead < at.count) {
          const auto* const ahead = reinterpret_cast<const std::byte*>(at.from + at.order[e + kRowsAhead] * at.width);
          for (std::size_t i = 0; i < fetched; i += kLineBytes) __builtin_prefetch(ahead + i);
        }
        const T* const from = at.from + at.order[e] * at.width;
        if (e == at.begins[run]) {
          std::copy(from, from + at.width, to);
          continue;
        }
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (std::int64_t j = 0; j < at.width; ++j) to[j] = wrapping_sum(to[j], from[j]);
      }
    }
  });
}

/// The groups of n rows with equal numbers. All tensors are i64 (size).
struct Runs {
  Tensor numbers;  ///< distinct, ascending
  Tensor begins;   ///< position in `order` of each number's first row; n at the end
  Tensor order;    ///< rows sorted by number; equal numbers keep their order
};

Runs runs_of(const Tensor& numbers, std::int64_t limit) {
  const std::int64_t count = numbers.numel();
  Runs runs{{}, {}, sorted(numbers, limit)};
  const auto* const number = elements<std::int64_t>(numbers);
  const auto* const order = elements<std::int64_t>(runs.order);
  Tensor begins = Tensor::empty({count + 1}, DType::i64);
  auto* const begin = mutable_elements<std::int64_t>(begins);
  std::int64_t distinct = 0;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t here = number[order[i]];
    begin[distinct] = i;  // kept if the number is new, else overwritten by the next
    distinct += here != last ? 1 : 0;
    last = here;
  }
  begin[distinct] = count;
  runs.begins = begins.slice(0, 0, distinct + 1);
  runs.numbers = Tensor::empty({distinct}, DType::i64);
  auto* const numbered = mutable_elements<std::int64_t>(runs.numbers);
  for (std::int64_t run = 0; run < distinct; ++run) numbered[run] = number[order[begin[run]]];
  return runs;
}

void sum_runs(Tensor& out, const Tensor& x, const Runs& runs) {
  const std::int64_t width = x.size(1);
  const std::int64_t count = runs.order.numel();
  const std::int64_t sums = runs.numbers.numel();
  if (count == 0 || width == 0) return;
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Rows<T> rows{mutable_elements<T>(out),           elements<T>(x), elements<std::int64_t>(runs.begins),
                       elements<std::int64_t>(runs.order), count,          width};
    parallel_for(sums, width * (count / sums + 1),
                 [&](std::int64_t first, std::int64_t last) { sum_range(rows, first, last); });
  });
}

kernels::SummedRows sum_by_number(const Tensor& numbers, const Tensor& x, std::int64_t limit) {
  const Runs runs = runs_of(numbers, limit);
  Tensor rows = Tensor::empty({runs.numbers.numel(), x.size(1)}, x.dtype());
  sum_runs(rows, x, runs);
  return {runs.numbers, rows};
}

bool ascends(const Tensor& numbers) {
  const auto* const first = elements<std::int64_t>(numbers);
  const auto* const last = first + numbers.numel();
  return std::adjacent_find(first, last, std::greater_equal<>()) == last;
}

}  // namespace

const kernels::CoalesceKernels coalesce_kernels{.sum_by_number = sum_by_number, .ascends = ascends};

}  // namespace troupe::cpu
