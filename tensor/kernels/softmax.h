// Softmax kernels. REQUIRES: tensors are contiguous, (outer, size, inner), of one dtype, f32 or f64. Softmax runs along
// the middle.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

enum class SoftmaxKind : std::uint8_t { plain, logarithm };

/// The softmax kernels of a device.
struct SoftmaxKernels {
  void (*softmax)(SoftmaxKind kind, Tensor& out, const Tensor& x);

  /// out = the gradient by the input. `grad` is the gradient by the output `y`.
  void (*softmax_backward)(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::SoftmaxKernels softmax_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::SoftmaxKernels softmax_kernels;
}  // namespace troupe::cuda
