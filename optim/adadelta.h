// Adadelta: steps by the gradient times the ratio of the root mean squares of past steps and past gradients.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Adadelta.
struct AdadeltaOptions {
  static constexpr std::string_view kRule = "adadelta";

  double lr = 1.0;            ///< factor of the step, >= 0
  double rho = 0.9;           ///< share of the means of squares that a step keeps, in [0, 1]
  double eps = 1e-6;          ///< added under the roots, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[adadelta] rho is not a number in [0, 1]: 2`.
  void check() const;

  friend bool operator==(const AdadeltaOptions&, const AdadeltaOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("rho", rho);
    visit("eps", eps);
    visit("weight_decay", weight_decay);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Adadelta. With value p, gradient g and means v and u (0 before the first step):
///   g' = g + weight_decay * p                 -g instead of g with maximize
///   v  = rho * v + (1 - rho) * g' * g'
///   d  = sqrt(u + eps) / sqrt(v + eps) * g'
///   u  = rho * u + (1 - rho) * d * d
///   p  = p - lr * d
/// Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, in the form of torch.optim.Adadelta
/// (which adds the step size). States: "square_avg" is v, "acc_delta" is u.
class Adadelta final : public Rule<AdadeltaOptions> {
 public:
  /// Throws ValueError as AdadeltaOptions::check().
  explicit Adadelta(const AdadeltaOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
