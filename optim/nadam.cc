#include "optim/nadam.h"

#include <cmath>

#include "optim/option_checks.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

// u(t)
double share_at(const NAdamOptions& options, std::int64_t step) {
  return options.beta1 * (1.0 - 0.5 * std::pow(0.96, static_cast<double>(step) * options.momentum_decay));
}

// U(t) if all steps have these options. Stops once 1 - product rounds to 1: further factors change nothing.
double product_of_shares(const NAdamOptions& options, std::int64_t step) {
  double product = 1.0;
  for (std::int64_t i = 1; i <= step && 1.0 - product != 1.0; ++i) product *= share_at(options, i);
  return product;
}

}  // namespace

void NAdamOptions::check() const {
  require_not_negative(kRule, "lr", lr);
  require_share(kRule, "beta1", beta1);
  require_share(kRule, "beta2", beta2);
  require_not_negative(kRule, "eps", eps);
  require_not_negative(kRule, "weight_decay", weight_decay);
  require_not_negative(kRule, "momentum_decay", momentum_decay);
}

NAdam::NAdam(const NAdamOptions& options) : Rule(options, {{"exp_avg"}, {"exp_avg_sq"}}, "mu_product") {}

std::optional<double> NAdam::product(std::int64_t step, std::optional<double> before) const {
  return (before ? *before : product_of_shares(options(), step - 1)) * share_at(options(), step);
}

UpdateFormula NAdam::formula(std::int64_t step) const { return formula_with(step, product_of_shares(options(), step)); }

UpdateFormula NAdam::formula_with(std::int64_t step, double product) const {
  const NAdamOptions& o = options();
  const double now = share_at(o, step);
  const double next = share_at(o, step + 1);
  return NAdamFormula{.gradient_rate = o.lr * (1.0 - now) / (1.0 - product),
                      .mean_rate = o.lr * next / (1.0 - product * next),
                      .decay = o.weight_decay,
                      .beta1 = o.beta1,
                      .beta2 = o.beta2,
                      .eps = o.eps,
                      .root_share = 1.0 / std::sqrt(1.0 - std::pow(o.beta2, static_cast<double>(step)))};
}

}  // namespace troupe::optim
