// The side that learns: decides for everybody who has a cart, and remembers what came of it.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/variable.h"
#include "samples/reinforcement/cart_pole.h"
#include "samples/reinforcement/policy.h"
#include "tensor/generator.h"
#include "tensor/io/named_tensors.h"

namespace samples {

/// One policy for several observers, which play at the same time. What it draws for one does not depend on when the
/// others ask, so a seed gives the same run every time. One thread at a time.
class Agent {
 public:
  Agent(std::uint64_t seed, std::uint64_t observers);

  /// Throws std::out_of_range if there is no such observer; so does report_reward().
  Push select_action(std::uint64_t observer, const CartPoleState& state);

  /// What the observer got for the push before.
  void report_reward(std::uint64_t observer, double reward);

  /// The smallest sum of rewards among the observers' episodes.
  [[nodiscard]] double reward() const;

  /// What to minimise, and forgets the episodes. Each has returns of its own: what one observer got counts for nothing
  /// that another one did.
  [[nodiscard]] troupe::Variable take_loss();

  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] Policy& policy() { return policy_; }

  /// The positions of the generators, between episodes. Throws ValueError `[reinforcement] not of 2 observers`, or if a
  /// tensor is not the state of a generator.
  [[nodiscard]] troupe::NamedTensors state_dict() const;
  void load_state_dict(const troupe::NamedTensors& state);

 private:
  struct Episode {
    troupe::Generator generator;
    std::vector<troupe::Variable> surprises = {};
    std::vector<double> rewards = {};
  };

  Policy policy_;
  std::vector<Episode> episodes_;  // one for each observer
};

}  // namespace samples
