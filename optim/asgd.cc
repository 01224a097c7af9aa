#include "optim/asgd.h"

#include <algorithm>
#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void AsgdOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_not_negative(kRule, "lambda", lambda);
  require_not_negative(kRule, "alpha", alpha);
  require_not_negative(kRule, "t0", t0);
  require_not_negative(kRule, "weight_decay", weight_decay);
}

Asgd::Asgd(const AsgdOptions& options) : Rule(options, {{"ax"}}) {}

UpdateFormula Asgd::formula(std::int64_t step) const {
  const AsgdOptions& o = options();
  const auto before = static_cast<double>(step - 1);
  const double rate = o.lr / std::pow(1.0 + o.lambda * o.lr * before, o.alpha);
  const double summands = std::max(1.0, before - o.t0);
  return AsgdFormula{.rate = rate,
                     .decay = o.weight_decay,
                     .keep = 1.0 - o.lambda * rate,
                     .share = 1.0 / summands,
                     .replaces_mean = summands == 1.0};
}

}  // namespace troupe::optim
