#include "optim/adam.h"

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

std::vector<StateKind> kinds(const AdamOptions& options) {
  std::vector<StateKind> kinds{{"exp_avg"}, {"exp_avg_sq"}};
  if (options.amsgrad) kinds.push_back({"max_exp_avg_sq"});
  return kinds;
}

}  // namespace

void AdamOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_share(kRule, "beta1", beta1);
  require_share(kRule, "beta2", beta2);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
}

Adam::Adam(const AdamOptions& options) : Rule(options, kinds(options)) {}

UpdateFormula Adam::formula(std::int64_t step) const {
  const AdamOptions& o = options();
  const auto t = static_cast<double>(step);
  return AdamFormula{.rate = o.lr / (1.0 - std::pow(o.beta1, t)),
                     .decay = o.weight_decay,
                     .beta1 = o.beta1,
                     .beta2 = o.beta2,
                     .eps = o.eps,
                     .root_share = 1.0 / std::sqrt(1.0 - std::pow(o.beta2, t)),
                     .amsgrad = o.amsgrad};
}

}  // namespace troupe::optim
