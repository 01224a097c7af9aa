#include "tensor/kernels/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/reals.h"

namespace troupe::cpu {

using kernels::SoftmaxKind;

namespace {

template <class T>
void softmax_line(SoftmaxKind kind, T* y, const T* x, std::int64_t size) {
  const T top = largest(x, size);  // skips NaN, which the exponentials propagate
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
    vectorized_for(count, [o = out + begin, from = g + begin, e = block.data(),
                           sum = static_cast<T>(total)](std::int64_t i) { o[i] = from[i] - e[i] * sum; });
  }
}

// Adjacent lines of (outer, size, inner) are computed side by side: a row of a stripe has one element of each line. The
// first read copies a stripe to contiguous memory, because rows that are a power of two apart would evict each other
// from the caches.

/// Elements of a stripe that fit into a core's second-level cache. Long lines may exceed it.
constexpr std::int64_t kStripeElements = 1 << 15;
constexpr std::int64_t kColumnsMax = 1024;
constexpr std::int64_t kColumnsMin = 16;

struct Stripe {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t step;  ///< between rows in the tensors

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// One number per line of a stripe.
template <class T>
struct alignas(64) OfLines : std::array<T, kColumnsMax> {};

/// Calls f(offset in the tensors, offset in a copy, line) for each element of a stripe, row by row, in vectors. `f`
/// should hold numbers by value, as for vectorized().
template <class F>
void for_each_element(const Stripe& stripe, const F& f) {
  vectorized([ rows = stripe.rows, columns = stripe.columns, step = stripe.step, f ]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t c = 0; c < columns; ++c) f(i * step + c, i * columns + c, c);
    }
  });
}

/// Calls f(offset in a copy) for each row of a stripe.
template <class F>
void for_each_row(const Stripe& stripe, const F& f) {
  for (std::int64_t i = 0; i < stripe.rows; ++i) f(i * stripe.columns);
}

/// For each line of a stripe that is too narrow for vectors across it: copies the line from `from` to `copies`, calls
/// of_line(copies), and copies the result to `to`.
template <class T, std::size_t N, class OfLine>
void for_each_narrow_line(const Stripe& stripe, T* to, const std::array<const T*, N>& from, T* copies,
                          const OfLine& of_line) {
  for (std::int64_t c = 0; c < stripe.columns; ++c) {
    for (std::size_t n = 0; n < N; ++n) {
      T* const copy = copies + static_cast<std::int64_t>(n) * stripe.rows;
      for (std::int64_t i = 0; i < stripe.rows; ++i) copy[i] = from[n][i * stripe.step + c];
    }
    of_line(copies);
    for (std::int64_t i = 0; i < stripe.rows; ++i) to[i * stripe.step + c] = copies[i];
  }
}

/// REQUIRES: `e` has room for two stripes.
template <class T>
void softmax_stripe(SoftmaxKind kind, T* y, const T* x, const Stripe& stripe, T* e) {
  if (stripe.columns < kColumnsMin) {
    return for_each_narrow_line<T, 1>(stripe, y, {x}, e, [&](T* line) { softmax_line(kind, line, line, stripe.rows); });
  }
  OfLines<T> top;
  OfLines<double> total;
  top.fill(-std::numeric_limits<T>::infinity());
  total.fill(0.0);
  for_each_element(stripe, [x, e, most = top.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
    const T value = x[at];
    e[copy] = value;
    most[c] = value > most[c] ? value : most[c];
  });
  T* const exponentials = kind == SoftmaxKind::plain ? e : e + stripe.elements();
  for_each_row(stripe, [&](std::int64_t row) {
    vectorized_for(stripe.columns, [from = e + row, most = top.data()](std::int64_t c) { from[c] -= most[c]; });
    real_functions<T>().exp(exponentials + row, e + row, stripe.columns);
    vectorized_for(stripe.columns, [from = exponentials + row, sum = total.data()](std::int64_t c) {
      sum[c] += static_cast<double>(from[c]);
    });
  });
  OfLines<T> last;
  for (std::size_t c = 0; c < static_cast<std::size_t>(stripe.columns); ++c) {
    last[c] = static_cast<T>(kind == SoftmaxKind::plain ? 1.0 / total[c] : std::log(total[c]));
  }
  if (kind == SoftmaxKind::plain) {
    for_each_element(stripe, [y, e, scale = last.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      y[at] = e[copy] * scale[c];
    });
  } else {
    for_each_element(stripe, [y, e, log_total = last.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      y[at] = e[copy] - log_total[c];
    });
  }
}

/// REQUIRES: `copies` has room for two stripes.
template <class T>
void backward_stripe(SoftmaxKind kind, T* out, const T* g, const T* p, const Stripe& stripe, T* copies) {
  if (stripe.columns < kColumnsMin) {
    return for_each_narrow_line<T, 2>(stripe, out, {g, p}, copies, [&](T* line) {
      backward_line(kind, line, line, line + stripe.rows, stripe.rows);
    });
  }
  T* const grad = copies;
  T* const output = copies + stripe.elements();
  OfLines<double> total;
  total.fill(0.0);
  if (kind == SoftmaxKind::plain) {
    for_each_element(stripe, [=, sum = total.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      grad[copy] = g[at];
      output[copy] = p[at];
      sum[c] += static_cast<double>(g[at] * p[at]);
    });
  } else {
    for_each_element(stripe, [=, sum = total.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      grad[copy] = g[at];
      output[copy] = p[at];
      sum[c] += static_cast<double>(g[at]);
    });
    for_each_row(stripe,
                 [&](std::int64_t row) { real_functions<T>().exp(output + row, output + row, stripe.columns); });
  }
  OfLines<T> last;
  std::transform(total.begin(), total.begin() + stripe.columns, last.begin(),
                 [](double sum) { return static_cast<T>(sum); });
  if (kind == SoftmaxKind::plain) {
    for_each_element(stripe, [=, sum = last.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      out[at] = output[copy] * (grad[copy] - sum[c]);
    });
  } else {
    for_each_element(stripe, [=, sum = last.data()](std::int64_t at, std::int64_t copy, std::int64_t c) {
      out[at] = grad[copy] - output[copy] * sum[c];
    });
  }
}

/// Calls line(offset) for each line of (outer, size, 1), or of_stripe(offset, stripe, memory) for stripes that cover
/// (outer, size, inner). `memory` has room for two stripes.
template <class T, class Line, class OfStripe>
void for_each_line(const Tensor& shape, const Line& line, const OfStripe& of_stripe) {
  const std::int64_t size = shape.size(1);
  const std::int64_t inner = shape.size(2);
  if (inner == 1) {
    parallel_for(shape.size(0), size * 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) line(i * size);
    });
    return;
  }
  const std::int64_t columns =
      std::min(inner, std::clamp(kStripeElements / size / kColumnsMin * kColumnsMin, kColumnsMin, kColumnsMax));
  const std::int64_t stripes = (inner + columns - 1) / columns;
  parallel_for(shape.size(0) * stripes, size * columns * 8, [&](std::int64_t begin, std::int64_t end) {
    const auto memory = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(2 * size * columns));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % stripes * columns;
      of_stripe(i / stripes * size * inner + first, Stripe{size, std::min(columns, inner - first), inner},
                memory.get());
    }
  });
}

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  dispatch_floating("softmax", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for_each_line<T>(
        x, [&](std::int64_t at) { softmax_line(kind, to + at, from + at, x.size(1)); },
        [&](std::int64_t at, const Stripe& stripe, T* memory) {
          softmax_stripe(kind, to + at, from + at, stripe, memory);
        });
  });
}

void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  if (grad.numel() == 0) return;
  dispatch_floating("softmax_backward", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const g = elements<T>(grad);
    const T* const p = elements<T>(y);
    for_each_line<T>(
        y, [&](std::int64_t at) { backward_line(kind, to + at, g + at, p + at, y.size(1)); },
        [&](std::int64_t at, const Stripe& stripe, T* memory) {
          backward_stripe(kind, to + at, g + at, p + at, stripe, memory);
        });
  });
}

}  // namespace

const kernels::SoftmaxKernels softmax_kernels{.softmax = softmax, .softmax_backward = softmax_backward};

}  // namespace troupe::cpu
