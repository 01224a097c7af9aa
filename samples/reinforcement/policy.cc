#include "samples/reinforcement/policy.h"

#include <cmath>

#include "autograd/ops.h"
#include "autograd/ops_nn.h"
#include "tensor/create.h"

namespace samples {
namespace {

using troupe::Generator;
using troupe::Tensor;
using troupe::Variable;

/// One row for each state, (n, 4).
Tensor rows_of(std::span<const CartPoleState> states) {
  Tensor rows = troupe::empty({static_cast<std::int64_t>(states.size()), 4});
  auto next = rows.mutable_data<float>().begin();
  for (const CartPoleState& s : states) {
    for (const double value : {s.position, s.velocity, s.angle, s.angular_velocity})
      *next++ = static_cast<float>(value);
  }
  return rows;
}

}  // namespace

Policy::Policy(std::uint64_t seed) {
  Generator generator(seed);
  hidden_ = add_module("hidden", std::make_shared<troupe::nn::Linear>(4, 128, generator));
  output_ = add_module("output", std::make_shared<troupe::nn::Linear>(128, 2, generator));
}

Variable Policy::forward(const Tensor& states, Generator& generator) const {
  return log_softmax(output_->forward(relu(dropout(hidden_->forward(states), 0.6, generator))));
}

Decisions Policy::decide(std::span<const CartPoleState> states, Generator& generator) const {
  const Variable logarithms = forward(rows_of(states), generator);
  const Tensor values = logarithms.value();
  const std::span<const float> left_right = values.data<float>();
  Tensor chosen = troupe::empty({static_cast<std::int64_t>(states.size())}, troupe::DType::i64);
  const std::span<std::int64_t> choices = chosen.mutable_data<std::int64_t>();
  Decisions decisions;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Push push = generator.uniform() < std::exp(left_right[2 * i]) ? Push::left : Push::right;
    choices[i] = static_cast<std::int64_t>(push);
    decisions.pushes.push_back(push);
  }
  decisions.surprise = nll_loss(logarithms, chosen, troupe::Reduction::none);
  return decisions;
}

}  // namespace samples
