// Adagrad: steps by the gradient divided by the root of the sum of all squared gradients so far.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Adagrad.
struct AdagradOptions {
  static constexpr std::string_view kRule = "adagrad";

  double lr = 1e-2;                        ///< step size, >= 0
  double lr_decay = 0.0;                   ///< how fast the step size shrinks, >= 0
  double weight_decay = 0.0;               ///< L2 penalty, >= 0
  double initial_accumulator_value = 0.0;  ///< the sum before the first step, >= 0
  double eps = 1e-10;                      ///< added to the root, >= 0
  bool maximize = false;                   ///< step along the gradient

  /// Throws ValueError, for example `[adagrad] lr_decay is not a number >= 0: -1`.
  void check() const;

  friend bool operator==(const AdagradOptions&, const AdagradOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("lr_decay", lr_decay);
    visit("weight_decay", weight_decay);
    visit("initial_accumulator_value", initial_accumulator_value);
    visit("eps", eps);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Adagrad. With value p, gradient g, sum s (initial_accumulator_value before the first step) and t, the number of this
/// step:
///   g' = g + weight_decay * p                 -g instead of g with maximize
///   s  = s + g' * g'
///   p  = p - lr / (1 + (t - 1) * lr_decay) * g' / (sqrt(s) + eps)
/// Source: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization",
/// 2011, figure 1 with diagonal matrices, in the form of torch.optim.Adagrad. t counts a parameter's own steps. State:
/// "sum" is s.
class Adagrad final : public Rule<AdagradOptions> {
 public:
  /// Throws ValueError as AdagradOptions::check().
  explicit Adagrad(const AdagradOptions& options);

  [[nodiscard]] bool zero_changes_nothing() const noexcept override { return options().weight_decay == 0.0; }

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
