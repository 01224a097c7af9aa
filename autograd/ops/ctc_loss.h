// CTC loss of variables, for sequences that are not aligned with their targets. Shapes, dtypes and errors are those of
// tensor/ops/ctc_loss.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/ctc_loss.h"

namespace troupe {

[[nodiscard]] Variable ctc_loss(const Variable& log_probs, const Tensor& targets, const Tensor& input_lengths,
                                const Tensor& target_lengths, const CtcLossOptions& options = {});
/// The targets and lengths are integers, so as variables they have no gradient.
[[nodiscard]] inline Variable ctc_loss(const Variable& log_probs, const Variable& targets,
                                       const Variable& input_lengths, const Variable& target_lengths,
                                       const CtcLossOptions& options = {}) {
  return ctc_loss(log_probs, targets.value(), input_lengths.value(), target_lengths.value(), options);
}

}  // namespace troupe
