// RAdam: Adam that rectifies the variance of its first steps.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of RAdam.
struct RAdamOptions {
  static constexpr std::string_view kRule = "radam";

  double lr = 1e-3;           ///< step size, >= 0
  double beta1 = 0.9;         ///< share of the mean of gradients that a step keeps, in [0, 1)
  double beta2 = 0.999;       ///< share of the mean of squares that a step keeps, in [0, 1)
  double eps = 1e-8;          ///< added to the root, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[radam] beta1 is not a number in [0, 1): 1`.
  void check() const;

  friend bool operator==(const RAdamOptions&, const RAdamOptions&) = default;
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

/// RAdam. With value p, gradient g, means m and v (0 before the first step) and t, the number of this step:
///   g' = g + weight_decay * p                  -g instead of g with maximize
///   m  = beta1 * m + (1 - beta1) * g'
///   v  = beta2 * v + (1 - beta2) * g' * g'
///   n  = 2 / (1 - beta2) - 1,  k = n - 2 t beta2^t / (1 - beta2^t)
///   r  = sqrt((k - 4) (k - 2) n / ((n - 4) (n - 2) k))
///   p  = p - lr / (1 - beta1^t) * m * r * sqrt(1 - beta2^t) / (sqrt(v) + eps)   if k > 5
///   p  = p - lr / (1 - beta1^t) * m                                              else
/// Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020, algorithm 2, in the form of
/// torch.optim.RAdam. States: "exp_avg" is m, "exp_avg_sq" is v.
class RAdam final : public Rule<RAdamOptions> {
 public:
  /// Throws ValueError as RAdamOptions::check().
  explicit RAdam(const RAdamOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
