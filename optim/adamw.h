// AdamW: Adam with a weight decay that is not part of the gradient.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of AdamW.
struct AdamWOptions {
  static constexpr std::string_view kRule = "adamw";

  double lr = 1e-3;            ///< step size, >= 0
  double beta1 = 0.9;          ///< share of the mean of gradients that a step keeps, in [0, 1)
  double beta2 = 0.999;        ///< share of the mean of squares that a step keeps, in [0, 1)
  double eps = 1e-8;           ///< added to the root, >= 0
  double weight_decay = 1e-2;  ///< share of the value that a step subtracts per unit of lr, >= 0
  bool amsgrad = false;        ///< divide by the largest mean of squares so far
  bool maximize = false;       ///< step along the gradient

  /// Throws ValueError, for example `[adamw] beta1 is not a number in [0, 1): 1`.
  void check() const;

  friend bool operator==(const AdamWOptions&, const AdamWOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("beta1", beta1);
    visit("beta2", beta2);
    visit("eps", eps);
    visit("weight_decay", weight_decay);
    visit("amsgrad", amsgrad);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Adam with decoupled decay. With value p, gradient g, means m and v (0 before the first step) and t, the number of
/// this step:
///   m = beta1 * m + (1 - beta1) * g           -g instead of g with maximize
///   v = beta2 * v + (1 - beta2) * g * g
///   w = max(w, v)  with amsgrad, else  v
///   p = (1 - lr * weight_decay) * p - lr / (1 - beta1^t) * m / (sqrt(w / (1 - beta2^t)) + eps)
/// Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2; amsgrad as in Adam; both
/// in the form of torch.optim.AdamW. t counts a parameter's own steps. States: "exp_avg" is m, "exp_avg_sq" is v,
/// "max_exp_avg_sq" is w with amsgrad.
class AdamW final : public Rule<AdamWOptions> {
 public:
  /// Throws ValueError as AdamWOptions::check().
  explicit AdamW(const AdamWOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
