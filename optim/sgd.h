// Stochastic gradient descent.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Sgd.
struct SgdOptions {
  static constexpr std::string_view kRule = "sgd";

  double lr = 1e-3;           ///< step size, >= 0
  double momentum = 0.0;      ///< share of the last step's direction that a step keeps, >= 0
  double dampening = 0.0;     ///< share of the gradient left out of the direction
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool nesterov = false;      ///< look ahead along the direction; needs momentum > 0 and dampening = 0
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[sgd] lr is not a number >= 0: -0.1`.
  void check() const;

  friend bool operator==(const SgdOptions&, const SgdOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("momentum", momentum);
    visit("dampening", dampening);
    visit("weight_decay", weight_decay);
    visit("nesterov", nesterov);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Gradient descent with momentum. With value p, gradient g and direction v (none before the first step):
///   g' = g + weight_decay * p                  -g instead of g with maximize
///   v  = g'                                    in the first step
///   v  = momentum * v + (1 - dampening) * g'   afterwards
///   d  = g' + momentum * v  with nesterov,  v  with momentum alone,  g'  without momentum
///   p  = p - lr * d
/// Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013, in the form of
/// torch.optim.SGD (step size outside the direction, first direction undampened).
/// State: "momentum_buffer" is v, if momentum is not 0.
class Sgd final : public Rule<SgdOptions> {
 public:
  /// Throws ValueError as SgdOptions::check().
  explicit Sgd(const SgdOptions& options);

  [[nodiscard]] bool zero_changes_nothing() const noexcept override {
    return options().momentum == 0.0 && options().weight_decay == 0.0;
  }

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
