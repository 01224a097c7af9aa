// Adamax: steps by the running mean of gradients divided by a decaying maximum of their sizes.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Adamax.
struct AdamaxOptions {
  static constexpr std::string_view kRule = "adamax";

  double lr = 2e-3;           ///< step size, >= 0
  double beta1 = 0.9;         ///< share of the mean of gradients that a step keeps, in [0, 1)
  double beta2 = 0.999;       ///< share of the largest size that a step keeps, in [0, 1)
  double eps = 1e-8;          ///< added to the size of each gradient, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[adamax] beta1 is not a number in [0, 1): 1`.
  void check() const;

  friend bool operator==(const AdamaxOptions&, const AdamaxOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("beta1", beta1);
    visit("beta2", beta2);
    visit("eps", eps);
    visit("weight_decay", weight_decay);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Adamax. With value p, gradient g, mean m and size u (0 before the first step) and t, the number of this step:
///   g' = g + weight_decay * p                 -g instead of g with maximize
///   m  = beta1 * m + (1 - beta1) * g'
///   u  = max(beta2 * u, |g'| + eps)
///   p  = p - lr / (1 - beta1^t) * m / u
/// Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 2, in the form of
/// torch.optim.Adamax (which adds eps). t counts a parameter's own steps. States: "exp_avg" is m, "exp_inf" is u.
class Adamax final : public Rule<AdamaxOptions> {
 public:
  /// Throws ValueError as AdamaxOptions::check().
  explicit Adamax(const AdamaxOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
