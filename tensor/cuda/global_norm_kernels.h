// The kernels of tensor/kernels/global_norm.h for any launcher, see launcher.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "tensor/cuda/fold_parts.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/place.h"

namespace troupe::cuda {

/// |x|^p of element i. T is the type of its compute_dtype. All threads take the same branch.
template <class T>
struct MagnitudePower {
  Place x;
  double p;

  TROUPE_HOST_DEVICE double operator()(std::int64_t i) const {
    const auto value = static_cast<double>(load<T>(x.from(i), 0));
    if (p == 2.0) return value * value;
    return p == 1.0 ? std::abs(value) : std::pow(std::abs(value), p);
  }
};

/// NaN is larger than all numbers, and stays.
struct LargestOrNan {
  TROUPE_HOST_DEVICE double operator()(double a, double b) const { return b > a || b != b ? b : a; }
};

/// Returns |x|^p of all elements joined, from 0 on.
template <class Launcher, class Join>
double fold_powers_with(const Launcher& launcher, std::span<const Tensor> xs, double p, const Join& join) {
  std::int64_t parts = 0;
  for (const Tensor& x : xs) parts += PartSizes(x.numel()).parts;
  Tensor totals = Tensor::empty({parts}, DType::f64, xs.front().device());
  double* to = address<double>(written(totals));
  for (const Tensor& x : xs) {
    const Tensor contiguous = x.contiguous();
    const PartSizes sizes(x.numel());
    dispatch_floating("global_norm", x.dtype(), [&]<class T>(std::type_identity<T>) {
      fold_parts(launcher, sizes, to, MagnitudePower<T>{read(contiguous), p}, join);
    });
    to += sizes.parts;
  }
  return joined_here(totals, join);
}

template <class Launcher>
double sum_of_powers_with(const Launcher& launcher, std::span<const Tensor> xs, double p) {
  return fold_powers_with(launcher, xs, p, Plus{});
}

template <class Launcher>
double largest_magnitude_with(const Launcher& launcher, std::span<const Tensor> xs) {
  return fold_powers_with(launcher, xs, 1.0, LargestOrNan{});
}

}  // namespace troupe::cuda
