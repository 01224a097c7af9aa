#include "samples/reinforcement/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/sampling.h"

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

Policy::Policy(std::uint64_t seed, const PolicyOptions& options) : dropout_(options.dropout) {
  Generator generator(seed);
  std::int64_t width = 4;
  for (const std::int64_t elements : options.hidden) {
    auto layer = std::make_shared<troupe::nn::Linear>(width, elements, generator);
    hidden_.push_back(add_module(fmt::format("hidden{}", hidden_.size()), std::move(layer)));
    width = elements;
  }
  output_ = add_module("output", std::make_shared<troupe::nn::Linear>(width, 2, generator));
}

Variable Policy::forward(const Tensor& states, Generator& generator) const {
  Variable x(states);
  for (const auto& layer : hidden_) {
    x = layer->forward(x);
    if (dropout_ > 0) x = dropout(x, dropout_, generator);
    x = relu(x);
  }
  return log_softmax(output_->forward(x));
}

Decisions Policy::decide(std::span<const CartPoleState> states, Generator& generator) const {
  const Variable logarithms = forward(rows_of(states), generator);
  const Tensor drawn = troupe::categorical(logarithms.value(), generator);
  std::vector<Push> pushes;
  for (const std::int64_t push : drawn.data<std::int64_t>()) pushes.push_back(static_cast<Push>(push));
  return {std::move(pushes), nll_loss(logarithms, drawn, troupe::Reduction::none)};
}

Variable Policy::surprise(std::span<const CartPoleState> states, std::span<const Push> pushes,
                          Generator& generator) const {
  Tensor chosen = troupe::empty({std::ssize(pushes)}, troupe::DType::i64);
  std::ranges::transform(pushes, chosen.mutable_data<std::int64_t>().begin(),
                         [](Push p) { return static_cast<int>(p); });
  return nll_loss(forward(rows_of(states), generator), chosen, troupe::Reduction::none);
}

}  // namespace samples
