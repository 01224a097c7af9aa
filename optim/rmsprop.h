// RMSprop: steps by the gradient divided by the root of the running mean of squared gradients.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of RMSprop.
struct RMSpropOptions {
  static constexpr std::string_view kRule = "rmsprop";

  double lr = 1e-2;           ///< step size, >= 0
  double alpha = 0.99;        ///< share of the means that a step keeps, in [0, 1]
  double eps = 1e-8;          ///< added to the root, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  double momentum = 0.0;      ///< share of the last step's direction that a step keeps, >= 0
  bool centered = false;      ///< divide by the standard deviation of gradients instead
  bool maximize = false;      ///< step along the gradient

  /// Throws ValueError, for example `[rmsprop] alpha is not a number in [0, 1]: -1`.
  void check() const;

  friend bool operator==(const RMSpropOptions&, const RMSpropOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("alpha", alpha);
    visit("eps", eps);
    visit("weight_decay", weight_decay);
    visit("momentum", momentum);
    visit("centered", centered);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// RMSprop. With value p, gradient g, means v and m and direction b (0 before the first step):
///   g' = g + weight_decay * p                 -g instead of g with maximize
///   v  = alpha * v + (1 - alpha) * g' * g'
///   m  = alpha * m + (1 - alpha) * g'         with centered
///   d  = g' / (sqrt(v - m * m) + eps)  with centered,  g' / (sqrt(v) + eps)  else
///   b  = momentum * b + d
///   p  = p - lr * b                           lr * d  if momentum is 0
/// Source: Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; centered: Graves,
/// "Generating sequences with recurrent neural networks", 2013, equations 38 to 41; both in the form of
/// torch.optim.RMSprop. States: "square_avg" is v, "grad_avg" is m if centered, "momentum_buffer" is b if momentum is
/// not 0.
class RMSprop final : public Rule<RMSpropOptions> {
 public:
  /// Throws ValueError as RMSpropOptions::check().
  explicit RMSprop(const RMSpropOptions& options);

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
