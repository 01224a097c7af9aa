#include "tensor/kernels/scan.h"

#include <array>
#include <cstddef>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/loops.h"
#include "tensor/kernels/scan_folds.h"

namespace troupe::cpu {

using kernels::Direction;
using kernels::Extreme;
using kernels::ProductFold;
using kernels::SumFold;

namespace {

// Folds rows of `inner` elements, `step` apart, each row with those before it.
template <class Fold>
void fold_rows(typename Fold::Out* out, const typename Fold::In* x, std::int64_t rows, std::int64_t inner,
               std::int64_t step) {
  std::vector<typename Fold::State> states(static_cast<std::size_t>(inner), Fold::none());
  for (std::int64_t i = 0; i < rows; ++i, out += step, x += step) {
    for (std::size_t j = 0; j < states.size(); ++j) {
      states[j] = Fold::with(states[j], x[j], i);
      out[j] = Fold::result(states[j]);
    }
  }
}

// Folds `count` contiguous lines side by side, so that an element waits only for the one before it in its own line.
template <class Fold, std::size_t count>
void fold_lines(typename Fold::Out* out, const typename Fold::In* x, std::int64_t size, std::int64_t step) {
  std::array<typename Fold::State, count> states;
  states.fill(Fold::none());
  for (std::int64_t i = 0; i < size; ++i, out += step, x += step) {
    for (std::size_t line = 0; line < count; ++line) {
      const std::int64_t at = static_cast<std::int64_t>(line) * size;
      states[line] = Fold::with(states[line], x[at], i);
      out[at] = Fold::result(states[line]);
    }
  }
}

template <class Fold>
void fold_all(Tensor& out, const Tensor& x, Direction direction) {
  const std::int64_t rows = x.size(1);
  const std::int64_t inner = x.size(2);
  const std::int64_t first = direction == Direction::forward ? 0 : (rows - 1) * inner;
  const std::int64_t step = direction == Direction::forward ? inner : -inner;
  auto* const to = mutable_elements<typename Fold::Out>(out);
  const auto* const from = elements<typename Fold::In>(x);
  parallel_for(x.size(0), rows * inner, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kLines = 4;
    std::int64_t i = begin;
    for (; inner == 1 && i + kLines <= end; i += kLines) {
      fold_lines<Fold, kLines>(to + i * rows + first, from + i * rows + first, rows, step);
    }
    for (; i < end; ++i) {
      const std::int64_t at = i * rows * inner + first;
      if (inner == 1) fold_lines<Fold, 1>(to + at, from + at, rows, step);
      else fold_rows<Fold>(to + at, from + at, rows, inner, step);
    }
  });
}

// Returns whether `x` is the extreme of elements of which `best` is that of those before, as ExtremeFold has it.
template <class T, bool largest>
[[gnu::always_inline]] inline bool replaces(T x, T best) {
  const bool is_nan = x != x;
  const bool is_beyond = largest ? x >= best : x <= best;
  return is_nan | is_beyond;  // without a branch, for vectors
}

// Places of the extremes so far of `count` contiguous lines. Most blocks of a line hold no new extreme: those are
// filled.
template <class T, bool largest>
void extremes_of_lines(std::int64_t* out, const T* x, std::int64_t count, std::int64_t size) {
  vectorized([ out, x, count, size ]() __attribute__((always_inline)) {
    constexpr std::int64_t kBlock = 32;  // loops of 16 are unrolled before vectors are tried
    std::int64_t* to = out;
    const T* from = x;
    for (std::int64_t line = 0; line < count; ++line, to += size, from += size) {
      T best = from[0];
      std::int64_t at = 0;
      for (std::int64_t i = 0; i < size;) {
        const std::int64_t end = i + kBlock < size ? i + kBlock : size;
        if (end - i == kBlock) {
          int found = 0;
          for (std::int64_t j = 0; j < kBlock; ++j) found |= static_cast<int>(replaces<T, largest>(from[i + j], best));
          if (found == 0) {
            for (std::int64_t j = 0; j < kBlock; ++j) to[i + j] = at;
            i = end;
            continue;
          }
        }
        for (; i < end; ++i) {
          const bool better = replaces<T, largest>(from[i], best);
          best = better ? from[i] : best;
          at = better ? i : at;
          to[i] = at;
        }
      }
    }
  });
}

// The same of `inner` lines at once, whose elements are `inner` apart. `best` has room for `inner` elements.
template <class T, bool largest>
void extremes_of_rows(std::int64_t* out, const T* x, std::int64_t rows, std::int64_t inner, T* best) {
  vectorized([ out, x, rows, inner, best ]() __attribute__((always_inline)) {
    for (std::int64_t j = 0; j < inner; ++j) {
      best[j] = x[j];
      out[j] = 0;
    }
    for (std::int64_t i = 1; i < rows; ++i) {
      std::int64_t* const to = out + i * inner;
      const T* const from = x + i * inner;
      for (std::int64_t j = 0; j < inner; ++j) {
        const bool better = replaces<T, largest>(from[j], best[j]);
        best[j] = better ? from[j] : best[j];
        to[j] = better ? i : to[j - inner];
      }
    }
  });
}

template <class T, bool largest>
void all_extremes(Tensor& out, const Tensor& x) {
  const std::int64_t rows = x.size(1);
  const std::int64_t inner = x.size(2);
  auto* const to = mutable_elements<std::int64_t>(out);
  const T* const from = elements<T>(x);
  parallel_for(x.size(0), rows * inner, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * rows * inner;
    if (inner == 1) return extremes_of_lines<T, largest>(to + at, from + at, end - begin, rows);
    std::vector<T> best(static_cast<std::size_t>(inner));
    for (std::int64_t i = begin; i < end; ++i) {
      extremes_of_rows<T, largest>(to + i * rows * inner, from + i * rows * inner, rows, inner, best.data());
    }
  });
}

template <template <class, class> class Fold>
void fold_numbers(Tensor& out, const Tensor& x, Direction direction) {
  if (x.numel() == 0) return;
  if (x.dtype() == DType::i64) return fold_all<Fold<std::int64_t, std::uint64_t>>(out, x, direction);
  if (x.dtype() == DType::f32) return fold_all<Fold<float, double>>(out, x, direction);
  fold_all<Fold<double, double>>(out, x, direction);
}

void cumsum(Tensor& out, const Tensor& x, Direction direction) { fold_numbers<SumFold>(out, x, direction); }

void cumprod(Tensor& out, const Tensor& x) { fold_numbers<ProductFold>(out, x, Direction::forward); }

void cumulative_argument(Extreme extreme, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (extreme == Extreme::largest) all_extremes<T, true>(out, x);
    else all_extremes<T, false>(out, x);
  });
}

}  // namespace

const kernels::ScanKernels scan_kernels{
    .cumsum = cumsum, .cumprod = cumprod, .cumulative_argument = cumulative_argument};

}  // namespace troupe::cpu
