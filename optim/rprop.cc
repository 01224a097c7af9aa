#include "optim/rprop.h"

#include <fmt/format.h>

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/error.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void RpropOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_not_negative(kRule, "step_size_min", step_size_min);
  require_not_negative(kRule, "step_size_max", step_size_max);
  if (!(eta_minus > 0.0 && eta_minus < 1.0)) {
    throw ValueError(fmt::format("[{}] eta_minus is not a number in (0, 1): {}", kRule, eta_minus));
  }
  if (!(eta_plus > 1.0 && std::isfinite(eta_plus))) {
    throw ValueError(fmt::format("[{}] eta_plus is not a number above 1: {}", kRule, eta_plus));
  }
  if (step_size_min > step_size_max) {
    throw ValueError(
        fmt::format("[{}] step_size_min is above step_size_max: {} and {}", kRule, step_size_min, step_size_max));
  }
}

Rprop::Rprop(const RpropOptions& options) : Rule(options, {{"prev"}, {"step_size"}}) {}

UpdateFormula Rprop::formula(std::int64_t step) const {
  const RpropOptions& o = options();
  return RpropFormula{.eta_minus = o.eta_minus,
                      .eta_plus = o.eta_plus,
                      .size_min = o.step_size_min,
                      .size_max = o.step_size_max,
                      .first_size = o.lr,
                      .is_first = step == 1};
}

}  // namespace troupe::optim
