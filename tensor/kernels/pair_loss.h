// Kernels of losses of pairs of elements. REQUIRES: tensors are contiguous, of one shape and one dtype, f32 or f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The kind of loss. PairLoss::parameter is beta of smooth_l1 (above 0) and delta of huber.
enum class PairLossKind : std::uint8_t { squared, absolute, smooth_l1, huber, bce, bce_with_logits, kl, kl_of_logs };

struct PairLoss {
  PairLossKind kind;
  double parameter = 0.0;
  Tensor weight{};      ///< factor of each loss; undefined: 1
  Tensor pos_weight{};  ///< factor of y in bce_with_logits; undefined: 1
};

/// The pair loss kernels of a device.
struct PairLossKernels {
  /// out = the loss of each pair of elements.
  void (*pair_loss)(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss);

  /// out (), f64 = the sum of the losses / `divisor`. Does not depend on the number of threads.
  void (*pair_loss_sum)(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss, double divisor);

  /// by_x and by_y = the gradients by x and y. `grad`, the gradient by each loss, has one element or all. by_x or by_y
  /// may be undefined if that gradient is not wanted.
  void (*pair_loss_backward)(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y,
                             const PairLoss& loss);

  /// Returns whether every element is in [0, 1]. Waits for the GPU.
  bool (*all_probabilities)(const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::PairLossKernels pair_loss_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::PairLossKernels pair_loss_kernels;
}  // namespace troupe::cuda
