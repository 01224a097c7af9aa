#include "optim/rmsprop.h"

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

std::vector<StateKind> kinds(const RMSpropOptions& options) {
  std::vector<StateKind> kinds{{"square_avg"}};
  if (options.centered) kinds.push_back({"grad_avg"});
  if (options.momentum != 0.0) kinds.push_back({"momentum_buffer"});
  return kinds;
}

}  // namespace

void RMSpropOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_part(kRule, "alpha", alpha);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
  require_not_negative(kRule, "momentum", momentum);
}

RMSprop::RMSprop(const RMSpropOptions& options) : Rule(options, kinds(options)) {}

UpdateFormula RMSprop::formula(std::int64_t /*step*/) const {
  const RMSpropOptions& o = options();
  return RmspropFormula{.rate = o.lr,
                        .decay = o.weight_decay,
                        .alpha = o.alpha,
                        .eps = o.eps,
                        .momentum = o.momentum,
                        .centered = o.centered};
}

}  // namespace troupe::optim
