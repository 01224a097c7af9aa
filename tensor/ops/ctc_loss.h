// Connectionist temporal classification (CTC): the loss of sequences that are not aligned with their targets, and its
// gradient. Rules as in ops/loss.h.
#pragma once

#include <cstdint>

#include "tensor/ops/loss.h"
#include "tensor/tensor.h"

namespace troupe {

/// Blank class and reduction of ctc_loss.
struct CtcLossOptions {
  std::int64_t blank = 0;                 ///< the class of a step that emits no label
  Reduction reduction = Reduction::mean;  ///< mean: of the losses divided by their target lengths
  bool zero_infinity = false;             ///< whether a target that no alignment fits has loss 0 instead of infinity
};

/// Minus the logarithm of the probability that the steps emit the target. In an alignment labels may repeat, blanks may
/// stand anywhere, and at least one blank separates equal labels. Sums run in f64 on the CPU: GPU operands are copied.
/// Shapes: log_probs (t, n, classes), targets (n, longest) or concatenated (all), lengths (n); or (t, classes), (s), ()
/// and (). Targets and lengths are i64 or i32. Source: Graves et al., "Connectionist temporal classification", 2006.
/// Throws ShapeError `[ctc_loss] log_probs is not (t, n, classes): (2)`,
/// `... lengths do not fit: (3) and (2) for 2 examples`, `... targets (2, 5) do not have the lengths (3, 7)`,
/// ValueError `... 7 steps of 5`, `... blank 5 of 5 classes`, IndexError `... index out of range: 5 of 5`, DTypeError
/// `... index is f32, not i64 or i32`.
[[nodiscard]] Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, const CtcLossOptions& options = {});

/// The gradient with respect to log_probs, with its shape and dtype: minus the probability of each class at each step,
/// times `grad`, the gradient with respect to the result for the same arguments. PyTorch's ctc_loss gradient includes
/// that of log_softmax; after the backward of log_softmax both agree.
[[nodiscard]] Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                       const Tensor& input_lengths, const Tensor& target_lengths,
                                       const CtcLossOptions& options = {});

}  // namespace troupe
