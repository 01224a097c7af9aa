#include "optim/sgd.h"

#include <fmt/format.h>

#include "optim/option_checks.h"
#include "tensor/error.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

std::vector<StateKind> kinds(const SgdOptions& options) {
  if (options.momentum == 0.0) return {};
  return {{"momentum_buffer"}};
}

}  // namespace

void SgdOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_not_negative(kRule, "momentum", momentum);
  require_not_negative(kRule, "weight_decay", weight_decay);
  require_number(kRule, "dampening", dampening);
  if (nesterov && (momentum == 0.0 || dampening != 0.0)) {
    throw ValueError(fmt::format("[{}] nesterov needs momentum > 0 and dampening = 0: momentum {}, dampening {}", kRule,
                                 momentum, dampening));
  }
}

Sgd::Sgd(const SgdOptions& options) : Rule(options, kinds(options)) {}

UpdateFormula Sgd::formula(std::int64_t step) const {
  const SgdOptions& o = options();
  return SgdFormula{.rate = o.lr,
                    .decay = o.weight_decay,
                    .momentum = o.momentum,
                    .share = step == 1 ? 1.0 : 1.0 - o.dampening,
                    .has_direction = o.momentum != 0.0,
                    .nesterov = o.nesterov};
}

}  // namespace troupe::optim
