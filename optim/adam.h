// Adam: steps by the mean of gradients over the root of the mean of their squares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "optim/optimizer.h"

namespace troupe::optim {

/// Settings of Adam.
struct AdamOptions {
  double lr = 1e-3;           ///< step size, >= 0
  double beta1 = 0.9;         ///< share of the mean of gradients that is kept, in [0, 1)
  double beta2 = 0.999;       ///< share of the mean of their squares that is kept, in [0, 1)
  double eps = 1e-8;          ///< added to the root, >= 0
  double weight_decay = 0.0;  ///< L2 penalty, >= 0

  friend bool operator==(const AdamOptions&, const AdamOptions&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(lr, beta1, beta2, eps, weight_decay);
  }
};

/// Adam. With value p, gradient g, means m and v (0 before the first step) and t, the number of this step:
///   g' = g + weight_decay * p
///   m  = beta1 * m + (1 - beta1) * g'
///   v  = beta2 * v + (1 - beta2) * g' * g'
///   p  = p - lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
/// Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1; decay as in
/// torch.optim.Adam. t counts a parameter's own steps. Computed in f64 for f64, else in f32, on the
/// value's device.
class Adam final : public Optimizer {
 public:
  /// Throws ValueError, for example `[adam] beta1 is not a number in [0, 1): 1`.
  explicit Adam(const AdamOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "adam"; }
  [[nodiscard]] const AdamOptions& options() const noexcept { return options_; }

  /// How many steps parameter `index` has taken.
  [[nodiscard]] std::int64_t steps(std::size_t index) const;

  /// Copies of the means m and v of parameter `index`; undefined before its first step.
  [[nodiscard]] Tensor gradient_mean(std::size_t index) const;
  [[nodiscard]] Tensor square_mean(std::size_t index) const;

 private:
  struct Means {
    Tensor gradient;  ///< m
    Tensor square;    ///< v
  };
  struct State {
    std::int64_t steps = 0;  ///< t of the last step
    Means means;
    Means next;  ///< after the prepared step; its memory is used again
  };

  void check_state(const ParameterUpdate& update) const override;
  void prepare_one(const ParameterUpdate& update) override;
  void commit_state(std::size_t index) noexcept override;

  /// The state of the parameter, with means of 0 if it has taken no step.
  [[nodiscard]] State& state_for(const ParameterUpdate& update);

  AdamOptions options_;
  std::vector<State> states_;
};

}  // namespace troupe::optim
