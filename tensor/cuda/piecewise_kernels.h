// The kernels of piecewise.h for any launcher, see launcher.h. All threads of one take the same branch.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/cpu/piecewise.h"
#include "tensor/cuda/place.h"

namespace troupe::cuda {

using cpu::PiecewiseOp;

template <class T>
struct PiecewiseBody {
  PiecewiseOp op;
  T factor;
  T* out;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const T v = x[i];
    out[i] = v > T{0} ? v : factor * (op == PiecewiseOp::leaky_relu ? v : std::expm1(v));
  }
};

template <class T>
struct PiecewiseBackwardBody {
  PiecewiseOp op;
  T factor;
  T* out;
  const T* g;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const T v = x[i];
    const T slope = op == PiecewiseOp::leaky_relu ? factor : factor * std::exp(v);
    out[i] = v > T{0} ? g[i] : slope * g[i];
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
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), PiecewiseBody<T>{op, static_cast<T>(factor), address<T>(to), address<T>(read(x))});
  });
}

template <class Launcher>
void piecewise_backward_with(const Launcher& launcher, PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor) {
  const Place to = written(out);
  dispatch_floating("piecewise", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), PiecewiseBackwardBody<T>{op, static_cast<T>(factor), address<T>(to), address<T>(read(g)), address<T>(read(x))});
  });
}

template <class Launcher>
void between_with(const Launcher& launcher, Tensor& out, const Tensor& g, const Tensor& x, double low, double high) {
  const Place to = written(out);
  dispatch_floating("between", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), BetweenBody<T>{static_cast<T>(low), static_cast<T>(high), address<T>(to), address<T>(read(g)), address<T>(read(x))});
  });
}

}  // namespace troupe::cuda
