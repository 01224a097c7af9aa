#include "tensor/cpu/softmax.h"

#include <algorithm>
#include <cmath>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

// Calls f(offset of its first element) for every line along the middle.
template <class F>
void for_each_line(const Tensor& x, const F& f) {
  const std::int64_t size = x.size(1);
  const std::int64_t inner = x.size(2);
  parallel_for(x.size(0) * inner, size * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i / inner * size * inner + i % inner);
  });
}

template <class T>
void softmax_line(SoftmaxKind kind, T* y, const T* x, std::int64_t size, std::int64_t step) {
  T top = x[0];
  for (std::int64_t i = 1; i < size; ++i) top = std::max(top, x[i * step]);
  double total = 0.0;
  for (std::int64_t i = 0; i < size; ++i) {
    const T e = std::exp(x[i * step] - top);
    if (kind == SoftmaxKind::plain) y[i * step] = e;
    total += static_cast<double>(e);
  }
  if (kind == SoftmaxKind::plain) {
    const T scale = static_cast<T>(1.0 / total);
    for (std::int64_t i = 0; i < size; ++i) y[i * step] *= scale;
  } else {
    const T log_total = static_cast<T>(std::log(total));
    for (std::int64_t i = 0; i < size; ++i) y[i * step] = x[i * step] - top - log_total;
  }
}

}  // namespace

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  dispatch_floating("softmax", x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for_each_line(x, [&](std::int64_t at) { softmax_line(kind, to + at, from + at, x.size(1), x.size(2)); });
  });
}

void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  if (grad.numel() == 0) return;
  const std::int64_t size = y.size(1);
  const std::int64_t step = y.size(2);
  dispatch_floating("softmax_backward", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const g = elements<T>(grad);
    const T* const p = elements<T>(y);
    for_each_line(y, [&](std::int64_t at) {
      double total = 0.0;
      for (std::int64_t i = at; i < at + size * step; i += step) {
        total += static_cast<double>(kind == SoftmaxKind::plain ? g[i] * p[i] : g[i]);
      }
      const T sum = static_cast<T>(total);
      for (std::int64_t i = at; i < at + size * step; i += step) {
        // plain: p (g - sum(g p)); logarithm: g - exp(y) sum(g)
        to[i] = kind == SoftmaxKind::plain ? p[i] * (g[i] - sum) : g[i] - std::exp(p[i]) * sum;
      }
    });
  });
}

}  // namespace troupe::cpu
