#include "samples/reinforcement/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "autograd/ops.h"
#include "samples/reinforcement/returns.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"

namespace samples {

using troupe::Variable;

Agent::Agent(std::uint64_t seed, std::uint64_t observers) : policy_(seed) {
  for (std::uint64_t i = 0; i < observers; ++i) episodes_.push_back({.generator = troupe::Generator(seed, 2 * i + 2)});
}

Push Agent::select_action(std::uint64_t observer, const CartPoleState& state) {
  Episode& episode = episodes_.at(observer);
  const Decisions decided = policy_.decide({&state, 1}, episode.generator);
  episode.surprises.push_back(decided.surprise);
  return decided.pushes.front();
}

void Agent::report_reward(std::uint64_t observer, double reward) { episodes_.at(observer).rewards.push_back(reward); }

double Agent::reward() const {
  std::vector<double> sums;
  for (const Episode& e : episodes_) sums.push_back(std::accumulate(e.rewards.begin(), e.rewards.end(), 0.0));
  return *std::min_element(sums.begin(), sums.end());
}

Variable Agent::take_loss() {
  constexpr double kDiscount = 0.99;
  Variable loss(troupe::scalar(0.0F));
  for (Episode& episode : episodes_) {
    const std::vector<double> returns = standardised(discounted_returns(episode.rewards, kDiscount));
    const Variable weights(troupe::from_values<double>(returns, {std::ssize(returns)}).to(troupe::DType::f32));
    loss = loss + sum(concat(episode.surprises) * weights);
    episode.surprises.clear();
    episode.rewards.clear();
  }
  return loss;
}

troupe::NamedTensors Agent::state_dict() const {
  troupe::NamedTensors state;
  for (const Episode& e : episodes_) state.emplace_back(fmt::format("{:06}", state.size()), state_of(e.generator));
  return state;
}

void Agent::load_state_dict(const troupe::NamedTensors& state) {
  if (state.size() != episodes_.size())
    throw troupe::ValueError(fmt::format("[reinforcement] not of {} observers", episodes_.size()));
  std::vector<troupe::Generator> generators;
  for (const auto& [name, tensor] : state) generators.push_back(troupe::generator_of(tensor));
  for (std::size_t i = 0; i < generators.size(); ++i) episodes_[i].generator = generators[i];
}

}  // namespace samples
