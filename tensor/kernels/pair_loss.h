// Kernels of losses of pairs of elements. Tensors are contiguous, of one shape and one dtype, f32 or f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// d = x - y. `parameter` is beta of smooth_l1 (above 0) and delta of huber.
enum class PairLossKind : std::uint8_t { squared, absolute, smooth_l1, huber, bce, bce_with_logits, kl, kl_of_logs };

struct PairLoss {
  PairLossKind kind;
  double parameter = 0.0;
  Tensor weight{};      ///< of each loss; undefined: 1
  Tensor pos_weight{};  ///< of y in bce_with_logits; undefined: 1
};

/// What a device implements for losses of pairs of elements.
struct PairLossKernels {
  /// out = each loss
  void (*pair_loss)(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss);

  /// out (), f64 = their sum, which does not depend on the number of threads, over `divisor`.
  void (*pair_loss_sum)(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss, double divisor);

  /// by_x and by_y = the gradients by x and y, from `grad` by each loss, which is of one element or of all. One of both
  /// may be undefined: nobody wants it.
  void (*pair_loss_backward)(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y,
                             const PairLoss& loss);

  /// Whether every element is in [0, 1]. Waits for the GPU.
  bool (*all_probabilities)(const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::PairLossKernels pair_loss_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::PairLossKernels pair_loss_kernels;
}  // namespace troupe::cuda
