// Connectionist temporal classification: the sum over all alignments of a target to time steps, in logarithms.
//
// CPU only: Tensor::bytes throws for tensors on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// A batch of examples. REQUIRES: `targets` and `steps` hold n entries; no example has more steps than `log_probs`; all
/// classes are in range.
struct CtcExamples {
  Tensor log_probs;                                ///< (t, n, classes), contiguous, f32 or f64
  std::vector<std::vector<std::int64_t>> targets;  ///< the classes of each example
  std::vector<std::int64_t> steps;                 ///< the number of time steps of each example
  std::int64_t blank;
};

/// The CTC kernels of a device.
struct CtcKernels {
  /// losses (n), f64 = -log(the probability of each target); infinite if no alignment exists.
  void (*ctc)(Tensor& losses, const CtcExamples& examples);

  /// Writes the gradients by log_probs to `out`, of its shape and dtype. `grad` (n), f64, is the gradient by the
  /// losses; where it is 0, `out` is not written. REQUIRES: `out` holds zeros.
  void (*ctc_backward)(Tensor& out, const Tensor& grad, const CtcExamples& examples, const Tensor& losses);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::CtcKernels ctc_kernels;
}  // namespace troupe::cpu
