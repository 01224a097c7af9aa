// Objects that several nodes train together by calls: a parameter server that steps once per round, and an agent that
// acts for observers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/function_registry.h"
#include "actors/future.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/nn/linear.h"
#include "autograd/variable.h"
#include "optim/local_optimizer.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// The weights of a linear model. A round ends when all trainers have sent a gradient; the weights then change once.
class RoundServer {
 public:
  static constexpr std::int64_t kFeatures = 4;
  static constexpr double kRate = 0.25;

  explicit RoundServer(std::int64_t trainers);

  [[nodiscard]] Tensor weights() const { return weights_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

  /// Returns the round's one future of the new weights. The gradients are added in the order of the trainers' ranks.
  Future<Tensor> update(Scope& scope, std::int64_t rank, const Tensor& gradient);

 private:
  Tensor weights_;
  std::vector<Tensor> gradients_;  // of the round, by rank; undefined if not sent yet
  std::int64_t steps_ = 0;
  std::optional<Promise<Tensor>> round_;
};

/// Returns the gradient of the mean squared error that `weights` have on 20 noiseless examples of that trainer and
/// round.
Tensor gradient_of_round(const Tensor& weights, std::int64_t rank, std::int64_t round);

/// Trains for `rounds`. Returns the weights that the server answered with in each of them.
std::vector<Tensor> train_in_rounds(Scope& scope, const RRef<RoundServer>& server, std::int64_t rank,
                                    std::int64_t rounds);

/// Shows one state after the other. An action is 0 or 1; the reward is 1 if it is the sign of the state's first number.
class Environment {
 public:
  static constexpr std::int64_t kNumbers = 3;

  explicit Environment(Generator generator);

  [[nodiscard]] const Tensor& state() const { return state_; }
  /// Returns the reward of `action` and draws the next state.
  double step(std::int64_t action);

 private:
  Generator generator_;
  Tensor state_;
};

class Agent;

/// Has an environment on its node and no policy of its own.
class Observer {
 public:
  /// Equal numbers and seeds give equal states.
  Observer(std::int64_t number, std::uint64_t seed);

  /// Asks `agent` for every action and reports every reward to it. Returns the actions.
  std::vector<std::int64_t> run_episode(Scope& scope, const RRef<Agent>& agent, std::int64_t steps);

 private:
  std::int64_t number_;
  Environment environment_;
};

/// What all observers did in one episode, by their numbers.
struct Episode {
  std::vector<std::vector<std::int64_t>> actions;  ///< as the observers received them
  std::vector<std::vector<double>> rewards;        ///< as the agent was told them

  friend bool operator==(const Episode&, const Episode&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(actions, rewards);
  }
};

/// Learns by REINFORCE (Williams, 1992). The draws for one observer do not depend on the calls of the others.
class Agent {
 public:
  Agent(std::uint64_t seed, std::int64_t observers);

  std::int64_t select_action(std::int64_t observer, const Tensor& state);
  void report_reward(std::int64_t observer, double reward);

  /// Returns all rewards since the last episode, by observer, and steps the policy.
  std::vector<std::vector<double>> finish_episode();

  /// All observers play at once and call back to `self`, a reference to this agent.
  Episode run_episode(Scope& scope, const RRef<Agent>& self, const std::vector<RRef<Observer>>& observers,
                      std::int64_t steps);

  [[nodiscard]] Tensor weight() const { return policy_.weight().value(); }

 private:
  struct Played {
    Generator generator;
    std::vector<Variable> surprises = {};  // minus the logarithm of the probability of each action
    std::vector<double> rewards = {};
  };

  Agent(std::uint64_t seed, std::int64_t observers, Generator generator);

  nn::Linear policy_;
  optim::LocalOptimizer optimizer_;
  std::vector<Played> played_;  // by observer
};

[[nodiscard]] FunctionRegistry with_learning_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
