// Kernels that bring values to mean 0 and variance 1, and their gradients. All tensors are contiguous and, where
// nothing else is said, of one dtype, f32 or f64. Sums run in f64, in an order that the sizes alone decide.
//
// GPUs do not use cuDNN's batch normalisation, which keeps mean and 1 / std of a batch of f32 as f32: ours are f64
// everywhere.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Whether batch_norm computes mean and variance, or takes them as they are.
enum class Moments : std::uint8_t { computed, given };

/// What a device implements for batch norm.
struct BatchNormKernels {
  /// out = (x - mean) / sqrt(var + eps) * weight + bias, channel by channel of (outer, channels, inner). `mean` and
  /// `var` (channels) are f64; computed ones are those of `x` along outer and inner, `var` over their number. `x` is
  /// not empty.
  void (*batch_norm)(Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, double eps);

  /// The gradient of batch_norm: `grad_weight` and `grad_bias` (channels) are f64.
  void (*batch_norm_backward)(Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias,
                              const Tensor& grad, const Tensor& x, const Tensor& mean, const Tensor& var,
                              const Tensor& weight, double eps);
};

/// What a device implements for group, layer and instance norm.
struct GroupNormKernels {
  /// The same with a mean and a variance for each (channels, inner) of x (outer, groups, channels, inner): they are f64
  /// (outer, groups) and always computed; weight and bias have groups * channels elements.
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
