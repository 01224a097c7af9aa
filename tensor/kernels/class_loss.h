// Kernels of losses with one target class per row. Tensors are contiguous. Floating tensors have one dtype, f32 or f64,
// except where f64 is stated.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The target classes and their weights. Targets are i64, each in [0, classes) or `ignore_index`.
struct RightClasses {
  Tensor target;
  Tensor weight;  ///< (classes); undefined: all 1
  std::int64_t ignore_index;
  double smoothing;  ///< label smoothing: the share spread evenly over all classes; for cross_entropy only
};

/// The class loss kernels of a device.
struct ClassLossKernels {
  /// Returns the sum of the weights of all targets that are not ignored, or nullopt if a target is outside [0,
  /// classes). Waits for the GPU.
  std::optional<double> (*weight_of_targets)(const RightClasses& right, std::int64_t classes);

  /// out (n, inner), f64 = -weight[t] * x[., t, .] for x (n, classes, inner) and target t; 0 for ignored targets.
  void (*nll)(Tensor& out, const Tensor& x, const RightClasses& right);

  /// out (n, classes, inner) = the gradient by x. `grad` (n, inner), f64, is the gradient by each loss.
  void (*nll_backward)(Tensor& out, const Tensor& grad, const RightClasses& right);

  /// Writes losses (n), f64, of the logits x (n, classes), and sums (n, 2), f64, for the backward pass: the largest
  /// logit of each row, and the sum of exp(x - largest).
  void (*cross_entropy)(Tensor& losses, Tensor& sums, const Tensor& x, const RightClasses& right);

  /// out (n, classes) = the gradient by x. `grad` (n), f64, is the gradient by each loss.
  void (*cross_entropy_backward)(Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& sums,
                                 const RightClasses& right);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ClassLossKernels class_loss_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ClassLossKernels class_loss_kernels;
}  // namespace troupe::cuda
