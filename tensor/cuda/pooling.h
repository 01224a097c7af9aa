// Pooling on GPUs: what tensor/cpu/pooling.h says holds here, of tensors on one GPU; what is not integer may also be f16 or
// bf16, computed in f32 and rounded once. Images have fewer than 2^31 elements: else they throw ShapeError
// `[pooling] 2^31 elements or more in an image: (1, 1, 65536, 65536)`.
#pragma once

#include "tensor/cpu/pooling.h"

namespace troupe::cuda {

void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns);
/// Same bits as on the CPU; `dx` and `dy` are f32 or f64.
void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max);
/// The same of a result of these windows, without sorting; `dx` and `dy` may be f16 or bf16, and every element of `dx` is written.
void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns);
void avg_pool(Tensor& y, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns);
/// Writes every element of `dx`.
void avg_pool_backward(Tensor& dx, const Tensor& dy, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns);

}  // namespace troupe::cuda
