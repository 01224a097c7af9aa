#include "autograd/ops/ctc_loss.h"

#include "autograd/record.h"

namespace troupe {

using detail::edges_of;
using detail::record;
using detail::Saved;

Variable ctc_loss(const Variable& log_probs, const Tensor& targets, const Tensor& input_lengths,
                  const Tensor& target_lengths, const CtcLossOptions& options) {
  const Tensor value = log_probs.value();
  return record("ctc_loss", ctc_loss(value, targets, input_lengths, target_lengths, options), edges_of({&log_probs}),
                [value = Saved(value), targets = Saved(targets), steps = Saved(input_lengths),
                 lengths = Saved(target_lengths), options](const Tensor& g) {
                  return ctc_loss_backward(g, value.get(), targets.get(), steps.get(), lengths.get(), options);
                });
}

}  // namespace troupe
