#include "tensor/kernels/piecewise.h"

#include <algorithm>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vector_math.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {

using kernels::exponential_pieces;
using kernels::ExponentialPieces;
using kernels::PiecewiseOp;

namespace {

// This many elements stay in a core's first-level cache between two passes.
constexpr std::int64_t kBlock = 1024;

/// Calls `f(begin, count)` for blocks that cover all elements, in parallel.
template <class F>
void for_each_block(std::int64_t count, const F& f) {
  parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; at += kBlock) f(at, std::min(kBlock, last - at));
  });
}

/// elu, celu and selu.
template <class T>
void exponential_block(const ExponentialPieces& pieces, T* out, const T* x, std::int64_t count) {
  const T above = static_cast<T>(pieces.above);
  const T below = static_cast<T>(pieces.below);
  const T inner = static_cast<T>(pieces.inner);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? T{0} : inner * x[i]; });
  real_functions<T>().expm1(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? above * x[i] : below * out[i]; });
}

template <class T>
void exponential_slope_block(const ExponentialPieces& pieces, T* out, const T* g, const T* x, std::int64_t count) {
  const T above = static_cast<T>(pieces.above);
  const T inner = static_cast<T>(pieces.inner);
  const T slope = static_cast<T>(pieces.slope);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? T{0} : inner * x[i]; });
  real_functions<T>().exp(out, out, count);
  vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? above * g[i] : slope * out[i] * g[i]; });
}

template <class T>
void forward_block(PiecewiseOp op, T* out, const T* x, double number, std::int64_t count) {
  const T factor = static_cast<T>(number);
  switch (op) {
    case PiecewiseOp::leaky_relu:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? x[i] : factor * x[i]; });
    case PiecewiseOp::softshrink:
      return vectorized_for(count, [=](std::int64_t i) {
        const T v = x[i];
        out[i] = v > factor ? v - factor : v < -factor ? v + factor : v != v ? v : T{0};
      });
    case PiecewiseOp::hardshrink:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] >= -factor && x[i] <= factor ? T{0} : x[i]; });
    case PiecewiseOp::hardsigmoid:
    case PiecewiseOp::hardswish: {
      const bool by_x = op == PiecewiseOp::hardswish;
      return vectorized_for(count, [=](std::int64_t i) {
        const T up = x[i] + T{3};
        const T gate = up < T{0} ? T{0} : up > T{6} ? T{6} : up;
        out[i] = (by_x ? x[i] * gate : gate) / T{6};
      });
    }
    case PiecewiseOp::elu:
    case PiecewiseOp::celu:
    case PiecewiseOp::selu: return exponential_block(exponential_pieces(op, number), out, x, count);
  }
}

template <class T>
void backward_block(PiecewiseOp op, T* out, const T* g, const T* x, double number, std::int64_t count) {
  const T factor = static_cast<T>(number);
  switch (op) {
    case PiecewiseOp::leaky_relu:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{0} ? g[i] : factor * g[i]; });
    case PiecewiseOp::softshrink:
    case PiecewiseOp::hardshrink:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] >= -factor && x[i] <= factor ? T{0} : g[i]; });
    case PiecewiseOp::hardsigmoid:
      return vectorized_for(count, [=](std::int64_t i) { out[i] = x[i] > T{-3} && x[i] < T{3} ? g[i] / T{6} : T{0}; });
    case PiecewiseOp::hardswish:
      return vectorized_for(count, [=](std::int64_t i) {
        out[i] = x[i] < T{-3} ? T{0} : x[i] > T{3} ? g[i] : g[i] * (x[i] / T{3} + T{0.5});
      });
    case PiecewiseOp::elu:
    case PiecewiseOp::celu:
    case PiecewiseOp::selu: return exponential_slope_block(exponential_pieces(op, number), out, g, x, count);
  }
}

void piecewise(PiecewiseOp op, Tensor& out, const Tensor& x, double factor) {
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for_each_block(out.numel(),
                   [=](std::int64_t at, std::int64_t count) { forward_block(op, to + at, from + at, factor, count); });
  });
}

void piecewise_backward(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor) {
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const gradient = elements<T>(g);
    const T* const from = elements<T>(x);
    for_each_block(out.numel(), [=](std::int64_t at, std::int64_t count) {
      backward_block(op, to + at, gradient + at, from + at, factor, count);
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

}  // namespace

const kernels::PiecewiseKernels piecewise_kernels{
    .piecewise = piecewise, .piecewise_backward = piecewise_backward, .between = between};

}  // namespace troupe::cpu
