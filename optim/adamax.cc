#include "optim/adamax.h"

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void AdamaxOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_share(kRule, "beta1", beta1);
  require_share(kRule, "beta2", beta2);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
}

Adamax::Adamax(const AdamaxOptions& options) : Rule(options, {{"exp_avg"}, {"exp_inf"}}) {}

UpdateFormula Adamax::formula(std::int64_t step) const {
  const AdamaxOptions& o = options();
  return AdamaxFormula{.rate = o.lr / (1.0 - std::pow(o.beta1, static_cast<double>(step))),
                       .decay = o.weight_decay,
                       .beta1 = o.beta1,
                       .beta2 = o.beta2,
                       .eps = o.eps};
}

}  // namespace troupe::optim
