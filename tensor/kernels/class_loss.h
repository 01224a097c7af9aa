// Kernels of losses that have a right class for each row. Tensors are contiguous; what is floating has one dtype, f32
// or f64, unless it is said to be f64.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The right classes, i64, each in [0, classes) or `ignore_index`, and what counts how much.
struct RightClasses {
  Tensor target;
  Tensor weight;  ///< (classes); undefined: 1
  std::int64_t ignore_index;
  double smoothing;  ///< the share that all classes have evenly; of cross_entropy alone
};

/// What a device implements for losses of class scores.
struct ClassLossKernels {
  /// What all targets that are not ignored count together; nothing if one of them is not in [0, classes).
  /// Waits for the GPU.
  std::optional<double> (*weight_of_targets)(const RightClasses& right, std::int64_t classes);

  /// out (n, inner), f64 = -weight[t] * x[., t, .] for x (n, classes, inner), 0 for what is ignored.
  void (*nll)(Tensor& out, const Tensor& x, const RightClasses& right);

  /// out (n, classes, inner) = the gradient by x, from that by each loss: `grad` (n, inner), f64.
  void (*nll_backward)(Tensor& out, const Tensor& grad, const RightClasses& right);

  /// losses (n), f64, of the logits x (n, classes); sums (n, 2), f64, take the largest of each row, and the sum of
  /// exp(x - largest), which the gradient needs.
  void (*cross_entropy)(Tensor& losses, Tensor& sums, const Tensor& x, const RightClasses& right);

  /// out (n, classes) = the gradient by x, from that by each loss: `grad` (n), f64.
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
