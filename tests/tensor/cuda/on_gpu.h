// Compares the results of operations on a GPU and on the CPU for equal values.
#pragma once

#include "tensor/tensor.h"
#include "tests/support/gpu.h"
#include "tests/tensor/cuda/layouts.h"
#include "tests/tensor/expect.h"

namespace troupe::testing {

inline const Device kGpu = Device::cuda();

/// Fails unless `f` returns the same bits on both devices.
template <class F, class... Tensors>
void expect_same_on_gpu(const F& f, const Tensors&... x) {
  const Tensor there = f(x.to(kGpu)...);
  BOOST_CHECK(there.device() == kGpu);
  expect_same(there.to(Device::cpu()), f(x...));
}

/// Fails unless the values of `f` on the GPU are within `rtol` and `atol` of the CPU's.
template <class F, class... Tensors>
void expect_close_on_gpu(double rtol, double atol, const F& f, const Tensors&... x) {
  const Tensor there = f(x.to(kGpu)...);
  BOOST_CHECK(there.device() == kGpu);
  expect_close(there.to(Device::cpu()), f(x...), rtol, atol);
}

/// Returns the tolerance for functions of reals: twice the error bound of either mathematics library, or one step of a
/// 16-bit float.
inline double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 2e-15;
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    default: return 1e-6;
  }
}

inline constexpr std::array kFloats{DType::f16, DType::bf16, DType::f32, DType::f64};

}  // namespace troupe::testing
