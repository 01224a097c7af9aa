// Connectionist temporal classification: the sum over all ways in which steps can spell a target, in logarithms.
//
// For the CPU alone: tensors of GPUs are refused where their bytes are asked for (Tensor::bytes).
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Examples of which none is longer than what it is cut from; all classes are in range.
struct CtcExamples {
  Tensor log_probs;                                ///< (t, n, classes), contiguous, f32 or f64
  std::vector<std::vector<std::int64_t>> targets;  ///< of each example
  std::vector<std::int64_t> steps;                 ///< of each example
  std::int64_t blank;
};

/// What a device implements for the CTC loss.
struct CtcKernels {
  /// losses (n), f64: minus the logarithm of the probability of each target; infinite if no way spells it.
  void (*ctc)(Tensor& losses, const CtcExamples& examples);

  /// out, of the shape and dtype of log_probs and zeros before: the gradients, from `grad` (n), f64, by the losses.
  /// Where that is 0 they stay 0.
  void (*ctc_backward)(Tensor& out, const Tensor& grad, const CtcExamples& examples, const Tensor& losses);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::CtcKernels ctc_kernels;
}  // namespace troupe::cpu
