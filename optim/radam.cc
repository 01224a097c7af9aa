#include "optim/radam.h"

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void RAdamOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_share(kRule, "beta1", beta1);
  require_share(kRule, "beta2", beta2);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
}

RAdam::RAdam(const RAdamOptions& options) : Rule(options, {{"exp_avg"}, {"exp_avg_sq"}}) {}

UpdateFormula RAdam::formula(std::int64_t step) const {
  const RAdamOptions& o = options();
  const auto t = static_cast<double>(step);
  const double power = std::pow(o.beta2, t);
  const double most = 2.0 / (1.0 - o.beta2) - 1.0;
  const double length = most - 2.0 * t * power / (1.0 - power);
  RAdamFormula formula{.rate = o.lr / (1.0 - std::pow(o.beta1, t)),
                       .decay = o.weight_decay,
                       .beta1 = o.beta1,
                       .beta2 = o.beta2,
                       .eps = o.eps,
                       .is_rectified = length > 5.0};
  if (formula.is_rectified) {
    formula.rate *=
        std::sqrt((length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length) * (1.0 - power));
  }
  return formula;
}

}  // namespace troupe::optim
