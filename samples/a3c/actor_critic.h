// The networks of actor and critic, and what a lesson about them is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"

namespace samples {

/// Two fully connected networks with one hidden layer each, which share nothing. Any thread may call any const member.
class ActorCritic final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal first values.
  explicit ActorCritic(std::uint64_t seed);

  /// Logarithms of the probabilities of a push to the left and to the right. Shapes: states (n, 4) f32 -> (n, 2).
  [[nodiscard]] troupe::Variable policy(const troupe::Variable& states) const;
  /// The discounted reward to come. Shapes: states (n, 4) f32 -> (n).
  [[nodiscard]] troupe::Variable values(const troupe::Variable& states) const;

  [[nodiscard]] std::vector<troupe::Tensor> weights() const;
  void set_weights(const std::vector<troupe::Tensor>& weights) const;

 private:
  std::shared_ptr<troupe::nn::Linear> actor_hidden_, actor_output_, critic_hidden_, critic_output_;
};

/// What a player has learnt from some pushes.
struct Lesson {
  std::vector<troupe::Tensor> gradients{};  ///< of the loss, by each weight
  std::optional<double> episode{};          ///< the reward of the episode that ended with them
  std::uint64_t player = 0;                 ///< its number
  std::vector<troupe::Tensor> position{};   ///< where the player is after them
};

}  // namespace samples
