// ASGD: gradient descent that also keeps the mean of the values.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Asgd.
struct AsgdOptions {
  static constexpr std::string_view kRule = "asgd";

  double lr = 1e-2;           ///< step size, >= 0
  double lambda = 1e-4;       ///< speed of the rate's decay, and decay of the value, >= 0
  double alpha = 0.75;        ///< exponent of the rate's decay, >= 0
  double t0 = 1e6;            ///< step after which averaging begins, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[asgd] alpha is not a number >= 0: -1`.
  void check() const;

  friend bool operator==(const AsgdOptions&, const AsgdOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("lambda", lambda);
    visit("alpha", alpha);
    visit("t0", t0);
    visit("weight_decay", weight_decay);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// ASGD. With value p, gradient g, mean a and t, the number of this step:
///   g' = g + weight_decay * p                  -g instead of g with maximize
///   r  = lr / (1 + lambda * lr * (t - 1))^alpha
///   p  = (1 - lambda * r) * p - r * g'
///   a  = a + (p - a) / max(1, t - 1 - t0)
/// Source: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992, in the form of
/// torch.optim.ASGD. States: "ax" is a.
class Asgd final : public Rule<AsgdOptions> {
 public:
  /// Throws ValueError as AsgdOptions::check().
  explicit Asgd(const AsgdOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
