// A player: it has a cart and a pole of its own, and finds out how the networks should change.
#pragma once

#include <cstdint>
#include <vector>

#include "samples/a3c/actor_critic.h"
#include "samples/reinforcement/cart_pole.h"
#include "tensor/generator.h"

namespace samples {

/// One thread at a time.
class Player {
 public:
  Player(std::uint64_t seed, std::uint64_t number);

  /// Goes on from a position of a player of the same seed and number; an empty one is the beginning. Throws ValueError
  /// `[a3c] not a position of a player`.
  void go_on_from(const std::vector<troupe::Tensor>& position);

  /// Plays on with these weights: kPushesMax pushes, or to the end of the episode. Returns the gradients of
  /// -log p(push) * advantage - 0.01 * entropy + 0.5 * (reward to come - value)^2, the mean over the pushes.
  /// Source: Mnih et al., "Asynchronous methods for deep reinforcement learning", 2016, algorithm S3.
  [[nodiscard]] Lesson play(const std::vector<troupe::Tensor>& weights);

  static constexpr std::int64_t kPushesMax = 20;

 private:
  /// Cart, pole and episode, f64 (6), and both generators.
  [[nodiscard]] std::vector<troupe::Tensor> position() const;

  std::uint64_t number_;
  CartPole cart_pole_;
  troupe::Generator generator_;  ///< of the pushes
  ActorCritic net_;
  double episode_ = 0;  ///< its reward so far
};

}  // namespace samples
