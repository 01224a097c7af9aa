#include "samples/a3c/actor_critic.h"

#include "autograd/ops.h"
#include "autograd/ops/nn.h"

namespace samples {

using troupe::Generator;
using troupe::Tensor;
using troupe::Variable;
namespace nn = troupe::nn;

ActorCritic::ActorCritic(std::uint64_t seed) {
  constexpr std::int64_t kHidden = 64;
  Generator generator(seed);
  actor_hidden_ = add_module("actor_hidden", std::make_shared<nn::Linear>(4, kHidden, generator));
  actor_output_ = add_module("actor_output", std::make_shared<nn::Linear>(kHidden, 2, generator));
  critic_hidden_ = add_module("critic_hidden", std::make_shared<nn::Linear>(4, kHidden, generator));
  critic_output_ = add_module("critic_output", std::make_shared<nn::Linear>(kHidden, 1, generator));
}

Variable ActorCritic::policy(const Variable& states) const {
  return log_softmax(actor_output_->forward(tanh(actor_hidden_->forward(states))));
}

Variable ActorCritic::values(const Variable& states) const {
  return flatten(critic_output_->forward(tanh(critic_hidden_->forward(states))), 0);
}

std::vector<Tensor> ActorCritic::weights() const {
  std::vector<Tensor> all;
  for (const Variable& parameter : parameters()) all.push_back(parameter.value());
  return all;
}

void ActorCritic::set_weights(const std::vector<Tensor>& weights) const {
  const std::vector<Variable> all = parameters();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].set_value(weights.at(i));
}

}  // namespace samples
