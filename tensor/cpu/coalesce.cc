#include "tensor/cpu/coalesce.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {
namespace {

constexpr int kDigitBits = 11;              // at most: the counts of all digits fit the innermost cache
constexpr std::int64_t kRowsAhead = 8;      // are fetched
constexpr std::size_t kLineBytes = 64;      // of a cache line
constexpr std::size_t kFetchedBytes = 512;  // of a row at most; the processor sees what follows by itself

struct Numbered {
  std::uint64_t number;
  std::int64_t row;
};

/// Sorts by the `bits` bits of the number from `shift` on, from `from` to `to`; equal ones keep their order.
void sort_by_digit(const std::vector<Numbered>& from, std::vector<Numbered>& to, std::vector<std::size_t>& places,
                   int shift, int bits) {
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
  const auto digit = [=](const Numbered& x) { return (x.number >> static_cast<unsigned>(shift)) & mask; };
  places.assign(mask + 1, 0);
  for (const Numbered& x : from) ++places[digit(x)];
  std::size_t before = 0;
  for (std::size_t& place : places) {
    const std::size_t count = place;
    place = before;
    before += count;
  }
  for (const Numbered& x : from) to[places[digit(x)]++] = x;
}

/// By number, the least significant digit first.
std::vector<Numbered> sorted(std::span<const std::int64_t> numbers, std::int64_t limit) {
  std::vector<Numbered> now(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    now[i] = {static_cast<std::uint64_t>(numbers[i]), static_cast<std::int64_t>(i)};
  }
  std::vector<Numbered> next(now.size());
  std::vector<std::size_t> places;
  const int all = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(limit - 1, 1))));
  // Few numbers take more and smaller digits, whose counts are soon cleared.
  const int most = std::clamp(static_cast<int>(std::bit_width(numbers.size())), 4, kDigitBits);
  const int passes = (all + most - 1) / most;
  const int bits = (all + passes - 1) / passes;
  for (int shift = 0; shift < all; shift += bits) {
    sort_by_digit(now, next, places, shift, bits);
    now.swap(next);
  }
  return now;
}

/// What sum_runs reads and writes.
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

}  // namespace

Runs runs_of(std::span<const std::int64_t> numbers, std::int64_t limit) {
  Runs runs;
  runs.order.reserve(numbers.size());
  for (const Numbered& x : sorted(numbers, limit)) {
    const auto number = static_cast<std::int64_t>(x.number);
    if (runs.numbers.empty() || runs.numbers.back() != number) {
      runs.numbers.push_back(number);
      runs.begins.push_back(static_cast<std::int64_t>(runs.order.size()));
    }
    runs.order.push_back(x.row);
  }
  runs.begins.push_back(static_cast<std::int64_t>(runs.order.size()));
  return runs;
}

void sum_runs(Tensor& out, const Tensor& x, const Runs& runs) {
  const std::int64_t width = x.size(1);
  const auto count = static_cast<std::int64_t>(runs.order.size());
  const auto sums = static_cast<std::int64_t>(runs.numbers.size());
  if (count == 0 || width == 0) return;
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Rows<T> rows{mutable_elements<T>(out), elements<T>(x), runs.begins.data(), runs.order.data(), count, width};
    parallel_for(sums, width * (count / sums + 1),
                 [&](std::int64_t first, std::int64_t last) { sum_range(rows, first, last); });
  });
}

}  // namespace troupe::cpu
