#include "tests/conformance/learning_functions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "actors/collect.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "optim/adam.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/sampling.h"

namespace troupe::testing {

RoundServer::RoundServer(std::int64_t trainers)
    : weights_(zeros({kFeatures, 1})), gradients_(static_cast<std::size_t>(trainers)) {}

Future<Tensor> RoundServer::update(Scope& scope, std::int64_t rank, const Tensor& gradient) {
  if (!round_) round_.emplace(scope);
  const Promise<Tensor> round = *round_;
  gradients_.at(static_cast<std::size_t>(rank)) = gradient;
  if (std::ranges::all_of(gradients_, &Tensor::defined)) {
    Tensor sum = zeros({kFeatures, 1});
    for (Tensor& one : gradients_) sum = sum + std::exchange(one, {});
    weights_ = weights_ - sum * (kRate / static_cast<double>(gradients_.size()));
    ++steps_;
    round_.reset();
    round.complete(weights_);
  }
  return round.future();
}

Tensor gradient_of_round(const Tensor& weights, std::int64_t rank, std::int64_t round) {
  Generator generator(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(round));
  const Tensor x = randn({20, RoundServer::kFeatures}, generator);
  const Tensor y = matmul(x, from_values<float>({1, 2, 3, 4}, {RoundServer::kFeatures, 1}));
  const Variable w(weights, RequiresGrad::yes);
  return backward(mse_loss(matmul(Variable(x), w), Variable(y))).of(w);
}

std::vector<Tensor> train_in_rounds(Scope& scope, const RRef<RoundServer>& server, std::int64_t rank,
                                    std::int64_t rounds) {
  std::vector<Tensor> seen;
  Tensor weights = server.rpc_sync(scope, &RoundServer::weights);
  for (std::int64_t round = 0; round < rounds; ++round) {
    weights = server.rpc_sync(scope, &RoundServer::update, rank, gradient_of_round(weights, rank, round));
    seen.push_back(weights);
  }
  return seen;
}

Environment::Environment(Generator generator) : generator_(generator), state_(randn({kNumbers}, generator_)) {}

double Environment::step(std::int64_t action) {
  const std::int64_t wanted = state_.data<float>()[0] > 0 ? 1 : 0;
  state_ = randn({kNumbers}, generator_);
  return action == wanted ? 1.0 : 0.0;
}

Observer::Observer(std::int64_t number, std::uint64_t seed)
    : number_(number), environment_(Generator(seed, 2 * static_cast<std::uint64_t>(number) + 1)) {}

std::vector<std::int64_t> Observer::run_episode(Scope& scope, const RRef<Agent>& agent, std::int64_t steps) {
  std::vector<std::int64_t> actions;
  for (std::int64_t step = 0; step < steps; ++step) {
    actions.push_back(agent.rpc_sync(scope, &Agent::select_action, number_, environment_.state()));
    agent.rpc_sync(scope, &Agent::report_reward, number_, environment_.step(actions.back()));
  }
  return actions;
}

Agent::Agent(std::uint64_t seed, std::int64_t observers) : Agent(seed, observers, Generator(seed)) {}

Agent::Agent(std::uint64_t seed, std::int64_t observers, Generator generator)
    : policy_(Environment::kNumbers, 2, generator), optimizer_(policy_.parameters(), optim::AdamOptions{.lr = 0.1}) {
  for (std::int64_t i = 0; i < observers; ++i)
    played_.push_back({.generator = Generator(seed, 2 * static_cast<std::uint64_t>(i) + 2)});
}

std::int64_t Agent::select_action(std::int64_t observer, const Tensor& state) {
  Played& played = played_.at(static_cast<std::size_t>(observer));
  const Variable logarithms = log_softmax(policy_.forward(Variable(state.view({1, Environment::kNumbers}))));
  const Tensor action = categorical(logarithms.value(), played.generator);
  played.surprises.push_back(nll_loss(logarithms, action));
  return action.data<std::int64_t>()[0];
}

void Agent::report_reward(std::int64_t observer, double reward) {
  played_.at(static_cast<std::size_t>(observer)).rewards.push_back(reward);
}

std::vector<std::vector<double>> Agent::finish_episode() {
  constexpr double kBaseline = 0.5;  // the mean reward of a policy that has learned nothing
  std::vector<std::vector<double>> rewards;
  Variable loss(scalar(0.0F));
  for (Played& played : played_) {
    for (std::size_t i = 0; i < played.rewards.size(); ++i)
      loss = loss + played.surprises.at(i) * (played.rewards[i] - kBaseline);
    rewards.push_back(std::exchange(played.rewards, {}));
    played.surprises.clear();
  }
  optimizer_.step(backward(loss));
  return rewards;
}

Episode Agent::run_episode(Scope& scope, const RRef<Agent>& self, const std::vector<RRef<Observer>>& observers,
                           std::int64_t steps) {
  std::vector<Future<std::vector<std::int64_t>>> running;
  for (const auto& observer : observers)
    running.push_back(observer.rpc_async(scope, &Observer::run_episode, self, steps));
  Episode episode;
  episode.actions = wait_all(running);
  episode.rewards = finish_episode();
  return episode;
}

FunctionRegistry with_learning_functions(const FunctionRegistry& functions) {
  return functions.with({{"RoundServer", constructor<RoundServer, std::int64_t>},
                         {"RoundServer::weights", &RoundServer::weights},
                         {"RoundServer::steps", &RoundServer::steps},
                         {"RoundServer::update", &RoundServer::update},
                         {"train_in_rounds", &train_in_rounds},
                         {"Observer", constructor<Observer, std::int64_t, std::uint64_t>},
                         {"Observer::run_episode", &Observer::run_episode},
                         {"Agent", constructor<Agent, std::uint64_t, std::int64_t>},
                         {"Agent::select_action", &Agent::select_action},
                         {"Agent::report_reward", &Agent::report_reward},
                         {"Agent::run_episode", &Agent::run_episode},
                         {"Agent::weight", &Agent::weight}});
}

}  // namespace troupe::testing
