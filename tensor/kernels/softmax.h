// Softmax kernels on contiguous (outer, size, inner) tensors of one dtype, f32 or f64, along the middle.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

enum class SoftmaxKind : std::uint8_t { plain, logarithm };

/// What a device implements for softmax and log-softmax.
struct SoftmaxKernels {
  void (*softmax)(SoftmaxKind kind, Tensor& out, const Tensor& x);

  /// `out` = gradient by the input, from `grad` by the output and the output `y`.
  void (*softmax_backward)(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::SoftmaxKernels softmax_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::SoftmaxKernels softmax_kernels;
}  // namespace troupe::cuda
