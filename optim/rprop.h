// Rprop: steps by the sign of the gradient, with a step size per element that adapts.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of Rprop.
struct RpropOptions {
  static constexpr std::string_view kRule = "rprop";

  double lr = 1e-2;             ///< first size of every element's step, >= 0
  double eta_minus = 0.5;       ///< factor of the size where the sign changed, in (0, 1)
  double eta_plus = 1.2;        ///< factor of the size where the sign stayed, > 1
  double step_size_min = 1e-6;  ///< bounds of the size, 0 <= step_size_min <= step_size_max
  double step_size_max = 50.0;
  bool maximize = false;  ///< step along the gradient

  /// Throws ValueError, for example `[rprop] eta_plus is not a number above 1: 1`.
  void check() const;

  friend bool operator==(const RpropOptions&, const RpropOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("eta_minus", eta_minus);
    visit("eta_plus", eta_plus);
    visit("step_size_min", step_size_min);
    visit("step_size_max", step_size_max);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Resilient backpropagation, for full-batch gradients. With value p, gradient g, the gradient q of the step before (0
/// before the first step) and sizes s (lr before the first step), for each element:
///   f = eta_plus if g * q > 0,  eta_minus if g * q < 0,  else 1        -g instead of g with maximize
///   s = min(max(f * s, step_size_min), step_size_max)
///   g = 0  if g * q < 0
///   p = p - sign(g) * s
///   q = g
/// Source: Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm",
/// 1993, in the form of torch.optim.Rprop (an element whose sign changed is not stepped back). set_lr() affects only
/// parameters that have taken no step. States: "prev" is q, "step_size" is s.
class Rprop final : public Rule<RpropOptions> {
 public:
  /// Throws ValueError as RpropOptions::check().
  explicit Rprop(const RpropOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
