// Stochastic gradient descent.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "optim/optimizer.h"

namespace troupe::optim {

/// Settings of Sgd.
struct SgdOptions {
  double lr = 1e-3;           ///< step size, >= 0
  double momentum = 0.0;      ///< share of the last step's direction that is kept, >= 0
  double dampening = 0.0;     ///< share of the gradient that does not enter the direction
  double weight_decay = 0.0;  ///< L2 penalty, >= 0
  bool nesterov = false;      ///< look ahead along the direction; needs momentum > 0 and dampening = 0

  friend bool operator==(const SgdOptions&, const SgdOptions&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(lr, momentum, dampening, weight_decay, nesterov);
  }
};

/// Gradient descent with momentum. With value p, gradient g and direction v (none before the first step):
///   g' = g + weight_decay * p
///   v  = g'                                    in the first step
///   v  = momentum * v + (1 - dampening) * g'   afterwards
///   d  = g' + momentum * v  with nesterov,  v  with momentum alone,  g'  without momentum
///   p  = p - lr * d
/// Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013, in the form of
/// torch.optim.SGD (step size outside the direction, first direction undampened). Computed in f64 for
/// f64, else in f32, on the value's device.
class Sgd final : public Optimizer {
 public:
  /// Throws ValueError, for example `[sgd] lr is not a number >= 0: -0.1`.
  explicit Sgd(const SgdOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "sgd"; }
  [[nodiscard]] const SgdOptions& options() const noexcept { return options_; }

  /// A copy of the direction v of parameter `index`; undefined before its first step and without momentum.
  [[nodiscard]] Tensor direction(std::size_t index) const;

 private:
  struct State {
    Tensor direction;       ///< v
    Tensor next_direction;  ///< v after the prepared step; its memory is used again
  };

  void check_state(const ParameterUpdate& update) const override;
  void prepare_one(const ParameterUpdate& update) override;
  void commit_state(std::size_t index) noexcept override;

  /// Writes v after this step, whose gradient is `gradient` with decay, and returns it.
  [[nodiscard]] Tensor next_direction(std::size_t index, const Tensor& gradient);

  SgdOptions options_;
  std::vector<State> states_;
};

}  // namespace troupe::optim
