// Kernels that sort. Rows are the last dimension of `x`, of any layout. NaN is largest; equal elements keep their
// order. A GPU finds the same places as the CPU.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

enum class Order : std::uint8_t { ascending, descending };

}  // namespace troupe

namespace troupe::kernels {

/// The kernels of a device for sorting and top-k.
struct OrderKernels {
  /// out (..., k) = the places of the first k elements of each row of `x` (..., n) in `order`. REQUIRES: `out` is
  /// contiguous i64; `x` has a compute dtype (i32, i64, f32 or f64).
  void (*order_last)(Tensor& out, const Tensor& x, Order order);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::OrderKernels order_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::OrderKernels order_kernels;
}  // namespace troupe::cuda
