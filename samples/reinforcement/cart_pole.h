// A pole on a cart, to be kept upright by pushing the cart: the task CartPole-v1, out of its published equations.
#pragma once

#include <cstdint>

#include "tensor/generator.h"

namespace samples {

/// Metres, radians and seconds; positive is to the right.
struct CartPoleState {
  double position = 0;
  double velocity = 0;
  double angle = 0;  ///< of the pole, from upright
  double angular_velocity = 0;

  friend bool operator==(const CartPoleState&, const CartPoleState&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(position, velocity, angle, angular_velocity);
  }
};

enum class Push : std::uint8_t { left, right };

/// The state 0.02 s later, the cart having been pushed with 10 N. One explicit Euler step of the equations of motion in
/// Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", 1983,
/// without friction: a cart of 1 kg, a pole of 0.1 kg and 1 m.
[[nodiscard]] CartPoleState after_push(const CartPoleState& state, Push push);

/// Whether the cart is further than 2.4 m from the middle, or the pole more than 12 degrees from upright.
[[nodiscard]] bool is_lost(const CartPoleState& state);

/// One episode after the other. Not safe for use by two threads at once.
class CartPole {
 public:
  /// An episode that long is won, and over.
  static constexpr int kStepsMax = 500;

  explicit CartPole(troupe::Generator generator) : generator_(generator) { reset(); }

  /// Goes on in an episode of which `steps` are done; `generator` draws the beginnings of the next ones.
  CartPole(troupe::Generator generator, const CartPoleState& state, int steps)
      : generator_(generator), state_(state), steps_(steps) {}

  /// Begins an episode: all four numbers of the state uniform in [-0.05, 0.05).
  void reset();

  /// Pushes, and returns the reward: 1, the last step's too. Throws std::logic_error if the episode is over.
  double step(Push push);

  [[nodiscard]] const CartPoleState& state() const { return state_; }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] const troupe::Generator& generator() const { return generator_; }
  [[nodiscard]] bool over() const { return steps_ == kStepsMax || is_lost(state_); }

 private:
  troupe::Generator generator_;
  CartPoleState state_;
  int steps_ = 0;
};

}  // namespace samples
