// CTC loss of variables, for sequences that are not aligned with their targets. Shapes, dtypes and errors are those of
// tensor/ops/ctc_loss.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/ctc_loss.h"

namespace troupe {

[[nodiscard]] Variable ctc_loss(const Variable& log_probs, const Tensor& targets, const Tensor& input_lengths,
                                const Tensor& target_lengths, const CtcLossOptions& options = {});

}  // namespace troupe
