// Kernels that normalize values to mean 0 and variance 1, and their gradients. Tensors are contiguous and, unless
// stated otherwise, of one dtype, f32 or f64. Sums run in f64, in an order that depends only on the sizes.
//
// GPUs do not use cuDNN's batch normalization: for f32 it keeps the mean and 1 / std of a batch in f32. Ours keep f64
// on every device.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Whether batch_norm computes mean and variance or reads them.
enum class Moments : std::uint8_t { computed, given };

/// The batch norm kernels of a device.
struct BatchNormKernels {
  /// out = (x - mean) / sqrt(var + eps) * weight + bias for each channel of (outer, channels, inner). `mean` and `var`
  /// (channels) are f64. If computed, they are those of `x` over outer and inner; `var` divides by the number of
  /// elements. REQUIRES: `x` is not empty.
  void (*batch_norm)(Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, double eps);

  /// The gradients of batch_norm. `grad_weight` and `grad_bias` (channels) are f64.
  void (*batch_norm_backward)(Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias,
                              const Tensor& grad, const Tensor& x, const Tensor& mean, const Tensor& var,
                              const Tensor& weight, double eps);
};

/// The kernels of a device for group, layer and instance norm.
struct GroupNormKernels {
  /// The same with one mean and variance per (channels, inner) of x (outer, groups, channels, inner). `mean` and `var`
  /// (outer, groups) are f64 and always computed; weight and bias have groups * channels elements.
  void (*group_norm)(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     double eps);
  void (*group_norm_backward)(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad,
                              const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, double eps);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::BatchNormKernels batch_norm_kernels;
extern const kernels::GroupNormKernels group_norm_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::BatchNormKernels batch_norm_kernels;
extern const kernels::GroupNormKernels group_norm_kernels;
}  // namespace troupe::cuda
