// The kernels of tensor/kernels/piecewise.h for any launcher, see launcher.h. All threads of a kernel take the same
// branch.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/kernels/piecewise.h"

namespace troupe::cuda {

using kernels::PiecewiseOp;

template <class T>
struct PiecewiseBody {
  PiecewiseOp op;
  T factor;
  T above, below, inner;  ///< of exponential_pieces
  T* out;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = value(x[i]); }

  TROUPE_HOST_DEVICE T value(T v) const {
    switch (op) {
      case PiecewiseOp::leaky_relu: return v > T{0} ? v : factor * v;
      case PiecewiseOp::softshrink: return v > factor ? v - factor : v < -factor ? v + factor : v != v ? v : T{0};
      case PiecewiseOp::hardshrink: return v >= -factor && v <= factor ? T{0} : v;
      case PiecewiseOp::hardsigmoid: return gate(v) / T{6};
      case PiecewiseOp::hardswish: return v * gate(v) / T{6};
      default: return v > T{0} ? above * v : below * std::expm1(inner * v);
    }
  }
  static TROUPE_HOST_DEVICE T gate(T v) { return v + T{3} < T{0} ? T{0} : v + T{3} > T{6} ? T{6} : v + T{3}; }
};

template <class T>
struct PiecewiseBackwardBody {
  PiecewiseOp op;
  T factor;
  T above, inner, slope;  ///< of exponential_pieces
  T* out;
  const T* g;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = value(g[i], x[i]); }

  TROUPE_HOST_DEVICE T value(T gradient, T v) const {
    switch (op) {
      case PiecewiseOp::leaky_relu: return v > T{0} ? gradient : factor * gradient;
      case PiecewiseOp::softshrink:
      case PiecewiseOp::hardshrink: return v >= -factor && v <= factor ? T{0} : gradient;
      case PiecewiseOp::hardsigmoid: return v > T{-3} && v < T{3} ? gradient / T{6} : T{0};
      case PiecewiseOp::hardswish: return v < T{-3} ? T{0} : v > T{3} ? gradient : gradient * (v / T{3} + T{0.5});
      default: return v > T{0} ? above * gradient : slope * std::exp(inner * v) * gradient;
    }
  }
};

template <class T>
struct BetweenBody {
  T low;
  T high;
  T* out;
  const T* g;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = x[i] <= low || x[i] >= high ? T{0} : g[i]; }
};

template <class Launcher>
void piecewise_with(const Launcher& launcher, PiecewiseOp op, Tensor& out, const Tensor& x, double factor) {
  const Place to = written(out);
  const kernels::ExponentialPieces pieces = kernels::exponential_pieces(op, factor);
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), PiecewiseBody<T>{op, static_cast<T>(factor), static_cast<T>(pieces.above),
                                                static_cast<T>(pieces.below), static_cast<T>(pieces.inner),
                                                address<T>(to), address<T>(read(x))});
  });
}

template <class Launcher>
void piecewise_backward_with(const Launcher& launcher, PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x,
                             double factor) {
  const Place to = written(out);
  const kernels::ExponentialPieces pieces = kernels::exponential_pieces(op, factor);
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), PiecewiseBackwardBody<T>{op, static_cast<T>(factor), static_cast<T>(pieces.above),
                                                        static_cast<T>(pieces.inner), static_cast<T>(pieces.slope),
                                                        address<T>(to), address<T>(read(g)), address<T>(read(x))});
  });
}

template <class Launcher>
void between_with(const Launcher& launcher, Tensor& out, const Tensor& g, const Tensor& x, double low, double high) {
  const Place to = written(out);
  dispatch_floating("between", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), BetweenBody<T>{static_cast<T>(low), static_cast<T>(high), address<T>(to),
                                              address<T>(read(g)), address<T>(read(x))});
  });
}

}  // namespace troupe::cuda
