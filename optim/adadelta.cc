#include "optim/adadelta.h"

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void AdadeltaOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_part(kRule, "rho", rho);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
}

Adadelta::Adadelta(const AdadeltaOptions& options) : Rule(options, {{"square_avg"}, {"acc_delta"}}) {}

UpdateFormula Adadelta::formula(std::int64_t /*step*/) const {
  const AdadeltaOptions& o = options();
  return AdadeltaFormula{.rate = o.lr, .decay = o.weight_decay, .rho = o.rho, .eps = o.eps};
}

}  // namespace troupe::optim
