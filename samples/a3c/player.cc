#include "samples/a3c/player.h"

#include <cmath>
#include <cstddef>
#include <span>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"

namespace samples {

using troupe::from_values;
using troupe::Generator;
using troupe::Gradients;
using troupe::Reduction;
using troupe::Tensor;
using troupe::Variable;

namespace {

constexpr double kDiscount = 0.99;
constexpr double kEntropy = 0.01;

void append(std::vector<float>& rows, const CartPoleState& s) {
  for (const double value : {s.position, s.velocity, s.angle, s.angular_velocity}) {
    rows.push_back(static_cast<float>(value));
  }
}

Tensor tensor_of(const std::vector<float>& rows) {
  return from_values<float>(rows, {static_cast<std::int64_t>(rows.size() / 4), 4});
}

}  // namespace

Player::Player(std::uint64_t seed, std::uint64_t number)
    : number_(number), cart_pole_(Generator(seed, 2 * number + 1)), generator_(seed, 2 * number + 2), net_(seed) {}

void Player::go_on_from(const std::vector<Tensor>& position) {
  if (position.empty()) return;
  if (position.size() != 3 || position[0].dtype() != troupe::DType::f64 || position[0].numel() != 6) {
    throw troupe::ValueError("[a3c] not a position of a player");
  }
  const std::span<const double> numbers = position[0].data<double>();
  const CartPoleState state{
      .position = numbers[0], .velocity = numbers[1], .angle = numbers[2], .angular_velocity = numbers[3]};
  cart_pole_ = CartPole(troupe::generator_of(position[1]), state, static_cast<int>(numbers[4]));
  episode_ = numbers[5];
  generator_ = troupe::generator_of(position[2]);
}

std::vector<Tensor> Player::position() const {
  const CartPoleState& s = cart_pole_.state();
  return {from_values<double>(
              {s.position, s.velocity, s.angle, s.angular_velocity, static_cast<double>(cart_pole_.steps()), episode_}),
          troupe::state_of(cart_pole_.generator()), troupe::state_of(generator_)};
}

Lesson Player::play(const std::vector<Tensor>& weights) {
  net_.set_weights(weights);
  std::vector<float> rows;
  std::vector<std::int64_t> pushes;
  std::vector<double> rewards;
  double later = 0;  // what is to come after the last push
  {
    const troupe::NoGradGuard no_graph;
    while (std::ssize(pushes) < kPushesMax && !cart_pole_.over()) {
      std::vector<float> state;
      append(state, cart_pole_.state());
      const double right = std::exp(net_.policy(tensor_of(state))[0][1].item());
      pushes.push_back(generator_.uniform() < right ? 1 : 0);
      rewards.push_back(cart_pole_.step(static_cast<Push>(pushes.back())));
      rows.insert(rows.end(), state.begin(), state.end());
    }
    std::vector<float> next;
    append(next, cart_pole_.state());
    if (!is_lost(cart_pole_.state())) later = net_.values(tensor_of(next)).item();
  }
  std::vector<double> returns(rewards.size());
  for (std::size_t i = rewards.size(); i-- > 0;) returns[i] = later = rewards[i] + kDiscount * later;
  Lesson lesson{.player = number_};
  for (const double reward : rewards) episode_ += reward;
  if (cart_pole_.over()) {
    lesson.episode = episode_;
    episode_ = 0;
    cart_pole_.reset();
  }
  lesson.position = position();

  const Tensor states = tensor_of(rows);
  const Tensor to_come = from_values<double>(returns, {std::ssize(returns)}).to(troupe::DType::f32);
  const Variable logarithms = net_.policy(states);
  const Variable values = net_.values(states);
  const Tensor chosen = from_values<std::int64_t>(pushes, {std::ssize(pushes)});
  const Variable surprise = nll_loss(logarithms, chosen, Reduction::none);
  const Variable entropy = -sum(exp(logarithms) * logarithms) / static_cast<double>(pushes.size());
  const Variable loss =
      mean(surprise * (Variable(to_come) - values.detach())) - kEntropy * entropy + 0.5 * mse_loss(values, to_come);
  const Gradients gradients = backward(loss, {.graph = troupe::Graph::release});
  for (const Variable& parameter : net_.parameters()) lesson.gradients.push_back(gradients.of(parameter));
  return lesson;
}

}  // namespace samples
