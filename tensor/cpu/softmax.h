// Softmax kernels on contiguous (outer, size, inner) tensors of one dtype, f32 or f64, along the middle.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::cpu {

enum class SoftmaxKind : std::uint8_t { plain, logarithm };

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x);

/// `out` = gradient by the input, from `grad` by the output and the output `y`.
void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y);

}  // namespace troupe::cpu
