#include "optim/adagrad.h"

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {

void AdagradOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_not_negative(kRule, "lr_decay", lr_decay);
  require_not_negative(kRule, "weight_decay", weight_decay);
  require_not_negative(kRule, "initial_accumulator_value", initial_accumulator_value);
  require_not_negative(kRule, "eps", eps);
}

Adagrad::Adagrad(const AdagradOptions& options)
    : Rule(options, {{.name = "sum", .first = options.initial_accumulator_value}}) {}

UpdateFormula Adagrad::formula(std::int64_t step) const {
  const AdagradOptions& o = options();
  return AdagradFormula{
      .rate = o.lr / (1.0 + static_cast<double>(step - 1) * o.lr_decay), .decay = o.weight_decay, .eps = o.eps};
}

}  // namespace troupe::optim
