#include "optim/sparse_adam.h"

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void SparseAdamOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_share(kRule, "beta1", beta1);
  require_share(kRule, "beta2", beta2);
  require_not_negative(kRule, "eps", eps);
}

SparseAdam::SparseAdam(const SparseAdamOptions& options) : Rule(options, {{"exp_avg"}, {"exp_avg_sq"}}) {}

UpdateFormula SparseAdam::formula(std::int64_t step) const {
  const SparseAdamOptions& o = options();
  const auto t = static_cast<double>(step);
  return AdamFormula{.rate = o.lr * std::sqrt(1.0 - std::pow(o.beta2, t)) / (1.0 - std::pow(o.beta1, t)),
                     .beta1 = o.beta1,
                     .beta2 = o.beta2,
                     .eps = o.eps};
}

}  // namespace troupe::optim
