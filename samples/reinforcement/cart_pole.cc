#include "samples/reinforcement/cart_pole.h"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace samples {
namespace {

constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kMass = 1.0 + kPoleMass;
constexpr double kHalfLength = 0.5;  // of the pole: to its centre of mass
constexpr double kForce = 10.0;
constexpr double kSeconds = 0.02;
constexpr double kPositionMax = 2.4;
constexpr double kAngleMax = 12 * std::numbers::pi / 180;

}  // namespace

CartPoleState after_push(const CartPoleState& s, Push push) {
  const double force = push == Push::right ? kForce : -kForce;
  const double sine = std::sin(s.angle);
  const double cosine = std::cos(s.angle);
  const double swing = (force + kPoleMass * kHalfLength * s.angular_velocity * s.angular_velocity * sine) / kMass;
  const double angular_acceleration =
      (kGravity * sine - cosine * swing) / (kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kMass));
  const double acceleration = swing - kPoleMass * kHalfLength * angular_acceleration * cosine / kMass;
  return {.position = s.position + kSeconds * s.velocity,
          .velocity = s.velocity + kSeconds * acceleration,
          .angle = s.angle + kSeconds * s.angular_velocity,
          .angular_velocity = s.angular_velocity + kSeconds * angular_acceleration};
}

bool is_lost(const CartPoleState& state) {
  return std::abs(state.position) > kPositionMax || std::abs(state.angle) > kAngleMax;
}

void CartPole::reset() {
  const auto draw = [this] { return 0.1 * generator_.uniform() - 0.05; };
  // Braces: drawn in this order.
  state_ = {.position = draw(), .velocity = draw(), .angle = draw(), .angular_velocity = draw()};
  steps_ = 0;
}

double CartPole::step(Push push) {
  if (over()) throw std::logic_error("[CartPole] the episode is over");
  state_ = after_push(state_, push);
  ++steps_;
  return 1.0;
}

}  // namespace samples
