#include "tensor/cpu/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/reals.h"

namespace troupe::cpu {
namespace {

template <class T>
void softmax_line(SoftmaxKind kind, T* y, const T* x, std::int64_t size) {
  const T top = largest(x, size);  // NaN or not: the sum of the exponentials shows it
  double total = 0.0;
  RealBlock<T> block;
  for (std::int64_t begin = 0; begin < size; begin += kBlockElements) {
    const std::int64_t count = std::min(kBlockElements, size - begin);
    T* const e = kind == SoftmaxKind::plain ? y + begin : block.data();
    vectorized_for(count, [e, from = x + begin, top](std::int64_t i) { e[i] = from[i] - top; });
    real_functions<T>().exp(e, e, count);
    total += sum_of(count, [e](std::int64_t i) { return e[i]; });
  }
  if (kind == SoftmaxKind::plain) {
    vectorized_for(size, [y, scale = static_cast<T>(1.0 / total)](std::int64_t i) { y[i] *= scale; });
  } else {
    vectorized_for(size, [y, x, top, log_total = static_cast<T>(std::log(total))](std::int64_t i) {
      y[i] = x[i] - top - log_total;
    });
  }
}

/// plain: p (g - sum(g p)); logarithm: g - exp(p) sum(g)
template <class T>
void backward_line(SoftmaxKind kind, T* out, const T* g, const T* p, std::int64_t size) {
  if (kind == SoftmaxKind::plain) {
    const double total = sum_of(size, [g, p](std::int64_t i) { return g[i] * p[i]; });
    vectorized_for(size, [=, sum = static_cast<T>(total)](std::int64_t i) { out[i] = p[i] * (g[i] - sum); });
    return;
  }
  const double total = sum_of(size, [g](std::int64_t i) { return g[i]; });
  RealBlock<T> block;
  for (std::int64_t begin = 0; begin < size; begin += kBlockElements) {
    const std::int64_t count = std::min(kBlockElements, size - begin);
    real_functions<T>().exp(block.data(), p + begin, count);
    vectorized_for(count, [o = out + begin, from = g + begin, e = block.data(), sum = static_cast<T>(total)](std::int64_t i) {
      o[i] = from[i] - e[i] * sum;
    });
  }
}

/// As many lines are computed together as are neighbours in a cache line.
constexpr std::int64_t kColumns = 16;

/// Calls line(y, x...) for every line along the middle of (outer, size, inner), with contiguous copies where inner > 1. y is
/// written, the xs are read.
template <class T, std::size_t N, class Line>
void for_each_line(const Tensor& shape, T* y, const std::array<const T*, N>& xs, const Line& line) {
  const std::int64_t size = shape.size(1);
  const std::int64_t inner = shape.size(2);
  const std::int64_t groups = (inner + kColumns - 1) / kColumns;
  parallel_for(shape.size(0) * groups, size * std::min(inner, kColumns) * 8, [&](std::int64_t begin, std::int64_t end) {
    if (inner == 1) {
      for (std::int64_t at = begin * size; at < end * size; at += size) {
        std::array<const T*, N> from = xs;
        for (const T*& x : from) x += at;
        line(y + at, from);
      }
      return;
    }
    std::vector<T> copies(static_cast<std::size_t>(kColumns * size) * (N + 1));
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group % groups * kColumns;
      const std::int64_t columns = std::min(kColumns, inner - first);
      const std::int64_t at = group / groups * size * inner + first;
      std::array<const T*, N> from;
      T* to = copies.data();
      for (std::size_t n = 0; n < N; ++n, to += kColumns * size) {
        for (std::int64_t i = 0; i < size; ++i) {
          for (std::int64_t c = 0; c < columns; ++c) to[c * size + i] = xs[n][at + i * inner + c];
        }
        from[n] = to;
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        line(to + c * size, from);
        for (const T*& x : from) x += size;
      }
      for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t c = 0; c < columns; ++c) y[at + i * inner + c] = to[c * size + i];
      }
    }
  });
}

}  // namespace

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  dispatch_floating("softmax", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    for_each_line<T, 1>(x, to, {elements<T>(x)}, [&](T* y, const std::array<const T*, 1>& from) {
      softmax_line(kind, y, from[0], x.size(1));
    });
  });
}

void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  if (grad.numel() == 0) return;
  dispatch_floating("softmax_backward", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    for_each_line<T, 2>(y, to, {elements<T>(grad), elements<T>(y)}, [&](T* o, const std::array<const T*, 2>& from) {
      backward_line(kind, o, from[0], from[1], y.size(1));
    });
  });
}

}  // namespace troupe::cpu
