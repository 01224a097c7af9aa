// NAdam: Adam with Nesterov momentum.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of NAdam.
struct NAdamOptions {
  static constexpr std::string_view kRule = "nadam";

  double lr = 2e-3;              ///< step size, >= 0
  double beta1 = 0.9;            ///< share of the mean of gradients that a step keeps, in [0, 1)
  double beta2 = 0.999;          ///< share of the mean of squares that a step keeps, in [0, 1)
  double eps = 1e-8;             ///< added to the root, >= 0
  double weight_decay = 0.0;     ///< L2 penalty, >= 0
  double momentum_decay = 4e-3;  ///< speed of u(i)'s growth from beta1 / 2 to beta1, >= 0
  bool maximize = false;         ///< step along the gradient

  /// Throws ValueError, for example `[nadam] beta1 is not a number in [0, 1): 1`.
  void check() const;

  friend bool operator==(const NAdamOptions&, const NAdamOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("beta1", beta1);
    visit("beta2", beta2);
    visit("eps", eps);
    visit("weight_decay", weight_decay);
    visit("momentum_decay", momentum_decay);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// NAdam. With value p, gradient g, means m and v (0 before the first step) and t, the number of this step:
///   g' = g + weight_decay * p                  -g instead of g with maximize
///   m  = beta1 * m + (1 - beta1) * g'
///   v  = beta2 * v + (1 - beta2) * g' * g'
///   u(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), and U(t) is the product of u(1) ... u(t), each with the beta1
///   of its step; u(t + 1) has that of step t
///   d  = sqrt(v / (1 - beta2^t)) + eps
///   p  = p - lr * (1 - u(t)) / (1 - U(t)) * g' / d - lr * u(t + 1) / (1 - U(t + 1)) * m / d
/// Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016, as torch.optim.NAdam. (Without foreach, torch 1.13
/// has one factor u(t) more in the last product.) States: "exp_avg" is m, "exp_avg_sq" is v; saved with them:
/// "mu_product" is U(t). A state that was saved without it continues as if all steps had had the beta1 of the next one.
class NAdam final : public Rule<NAdamOptions> {
 public:
  /// Throws ValueError as NAdamOptions::check().
  explicit NAdam(const NAdamOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
  [[nodiscard]] std::optional<double> product(std::int64_t step, std::optional<double> before) const override;
  [[nodiscard]] UpdateFormula formula_with(std::int64_t step, double product) const override;
};

}  // namespace troupe::optim
