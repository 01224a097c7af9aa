#include "tensor/cpu/piecewise.h"

#include <algorithm>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vector_math.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {
namespace {

// So many elements stay in a core's first cache between two passes.
constexpr std::int64_t kBlock = 1024;

/// Calls `f(begin, count)` for blocks of all elements, several at a time.
template <class F>
void for_each_block(std::int64_t count, const F& f) {
  parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; at += kBlock) f(at, std::min(kBlock, last - at));
  });
}

/// out = factor * x, factor * (exp(x) - 1) where x is not above 0, else x.
template <class T>
void forward_block(PiecewiseOp op, T* out, const T* x, T factor, std::int64_t count) {
  if (op == PiecewiseOp::leaky_relu) {
    return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? x[i] : factor * x[i]; });
  }
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? T{0} : x[i]; });
  real_functions<T>().expm1(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? x[i] : factor * out[i]; });
}

template <class T>
void backward_block(PiecewiseOp op, T* out, const T* g, const T* x, T factor, std::int64_t count) {
  if (op == PiecewiseOp::leaky_relu) {
    return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? g[i] : factor * g[i]; });
  }
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? T{0} : x[i]; });
  real_functions<T>().exp(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? g[i] : factor * out[i] * g[i]; });
}

}  // namespace

void piecewise(PiecewiseOp op, Tensor& out, const Tensor& x, double factor) {
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for_each_block(out.numel(), [=](std::int64_t at, std::int64_t count) {
      forward_block(op, to + at, from + at, static_cast<T>(factor), count);
    });
  });
}

void piecewise_backward(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor) {
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const gradient = elements<T>(g);
    const T* const from = elements<T>(x);
    for_each_block(out.numel(), [=](std::int64_t at, std::int64_t count) {
      backward_block(op, to + at, gradient + at, from + at, static_cast<T>(factor), count);
    });
  });
}

void between(Tensor& out, const Tensor& g, const Tensor& x, double low, double high) {
  dispatch_floating("between", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const gradient = elements<T>(g);
    const T* const from = elements<T>(x);
    const T least = static_cast<T>(low);
    const T most = static_cast<T>(high);
    for_each_block(out.numel(), [=](std::int64_t at, std::int64_t count) {
      vectorized_for(count, [=](std::int64_t i) {
        const T v = from[at + i];
        to[at + i] = v <= least || v >= most ? T{0} : gradient[at + i];
      });
    });
  });
}

}  // namespace troupe::cpu
