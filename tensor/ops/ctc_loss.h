// The loss of sequences that are not aligned with their targets, with the piece its gradient needs. Rules as in ops/loss.h.
#pragma once

#include <cstdint>

#include "tensor/ops/loss.h"
#include "tensor/tensor.h"

namespace troupe {

/// How ctc_loss reads classes and what becomes of the examples.
struct CtcLossOptions {
  std::int64_t blank = 0;              ///< the class that spells nothing
  Reduction reduction = Reduction::mean;  ///< a mean is one over the examples, of losses over the lengths of their targets
  bool zero_infinity = false;          ///< whether a target that no steps can spell counts as 0, instead of infinite
};

/// Minus the logarithm of the probability that steps spell a target: with blanks anywhere, labels repeated, and a blank at least
/// between equal labels. Sums run in f64, on the CPU: operands on a GPU are copied.
/// Shapes: log_probs (t, n, classes), targets (n, longest) or, one after the other, (all), lengths (n); or (t, classes), (s), ()
/// and (). Targets and lengths are i64 or i32. Source: Graves et al., "Connectionist temporal classification", 2006.
/// Throws ShapeError `[ctc_loss] log_probs is not (t, n, classes): (2)`, `... lengths do not fit: (3) and (2) for 2 examples`,
/// `... targets (2, 5) do not have the lengths (3, 7)`, ValueError `... 7 steps of 5`, `... blank 5 of 5 classes`, IndexError `...
/// index out of range: 5 of 5`, DTypeError `... index is f32, not i64 or i32`.
[[nodiscard]] Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, const CtcLossOptions& options = {});

/// The gradient by log_probs, of its shape and dtype, from the gradient by the result for the same arguments: minus the
/// probability to be at a class in a step. Behind log_softmax that is what torch's, which has that of log_softmax in it, becomes.
[[nodiscard]] Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                       const Tensor& input_lengths, const Tensor& target_lengths,
                                       const CtcLossOptions& options = {});

}  // namespace troupe
