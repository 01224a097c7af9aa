#include "samples/reinforcement/policy.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tensor/create.h"

using namespace samples;
using troupe::from_values;
using troupe::full;
using troupe::Generator;
using troupe::Tensor;
using troupe::Variable;

BOOST_AUTO_TEST_SUITE(policy)

namespace {

/// Sets weight and bias of the hidden layer, then of the output, in the order of parameters().
void set_parameters(const Policy& policy, const std::vector<Tensor>& values) {
  const std::vector<Variable> parameters = policy.parameters();
  BOOST_REQUIRE(parameters.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) parameters[i].set_value(values[i]);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_has_898_parameters) {
  std::int64_t count = 0;
  for (const Variable& parameter : Policy(1).parameters()) count += parameter.value().numel();
  BOOST_TEST(count == 898);  // 128*4 + 128, 2*128 + 2
}

BOOST_AUTO_TEST_CASE(hidden_layers_follow_each_other) {
  const Policy policy(1, {.hidden = {3, 2}, .dropout = 0});
  // From position to all three units, and their sum to the output for right: (2 + 2 + 2) / 6 against 0.
  set_parameters(policy, {from_values<float>({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, {3, 4}), full({3}, 0),
                          from_values<float>({1, 1, 1, 0, 0, 0}, {2, 3}), full({2}, 0),
                          from_values<float>({0, 0, 1.0F / 6, 0}, {2, 2}), full({2}, 0)});
  Generator generator(1);
  const Tensor found = policy.forward(from_values<float>({2, 7, 7, 7}, {1, 4}), generator).value();
  const float right = 1 / (1 + std::exp(-1.0F));
  BOOST_TEST(allclose(found, from_values<float>({std::log(1 - right), std::log(right)}, {1, 2}), 1e-6));
}

BOOST_AUTO_TEST_CASE(surprise_is_that_of_the_decisions) {
  const Policy policy(1, {.hidden = {16}, .dropout = 0});
  Generator generator(1);
  const std::vector<CartPoleState> states(20, CartPoleState{.angle = 0.1});
  const Decisions decisions = policy.decide(states, generator);
  BOOST_TEST(same_bytes(policy.surprise(states, decisions.pushes, generator).value(), decisions.surprise.value()));
}

BOOST_AUTO_TEST_CASE(pushes_come_as_often_as_they_are_likely_and_surprise_by_the_logarithm) {
  const Policy policy(1);
  // In every state, left has odds of 1 to 3.
  set_parameters(policy,
                 {full({128, 4}, 0), full({128}, 0), full({2, 128}, 0), from_values<float>({0, std::log(3.0F)})});
  Generator generator(1);
  const std::vector<CartPoleState> states(4000, CartPoleState{.velocity = 1});
  const Decisions decisions = policy.decide(states, generator);
  const Tensor surprise = decisions.surprise.value();
  double right = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool is_right = decisions.pushes[i] == Push::right;
    right += is_right ? 1 : 0;
    BOOST_TEST(surprise.data<float>()[i] == (is_right ? std::log(4.0F / 3) : std::log(4.0F)),
               boost::test_tools::tolerance(1e-6F));
  }
  BOOST_TEST(std::abs(right / 4000 - 0.75) < 0.03);  // 4 deviations: sqrt(0.75 * 0.25 / 4000) = 0.007
}

BOOST_AUTO_TEST_CASE(each_state_gets_the_decision_for_itself) {
  const Policy policy(1);
  // Right if the cart moves to the right (according to those of the 128 elements that are not dropped), else left.
  Tensor velocity = full({128, 4}, 0);
  for (std::int64_t i = 0; i < 128; ++i) velocity.mutable_data<float>()[static_cast<std::size_t>(4 * i + 1)] = 1000;
  Tensor only_right = full({2, 128}, 0);
  only_right.select(0, 1).fill(1);
  set_parameters(policy, {velocity, full({128}, 0), only_right, from_values<float>({100, 0})});
  Generator generator(1);
  const CartPoleState to_the_right{.velocity = 1};
  const CartPoleState to_the_left{.velocity = -1};
  const std::vector<CartPoleState> states{to_the_right, to_the_left, to_the_left, to_the_right};
  const std::vector<Push> expected{Push::right, Push::left, Push::left, Push::right};
  BOOST_TEST((policy.decide(states, generator).pushes == expected));
}

BOOST_AUTO_TEST_CASE(generators_say_which_hidden_elements_are_left_out) {
  const Policy policy(1);
  const auto forward = [&](std::uint64_t seed) {
    Generator generator(seed);
    return policy.forward(full({1, 4}, 0.5), generator).value();
  };
  BOOST_TEST(same_bytes(forward(1), forward(1)));
  BOOST_TEST(!same_bytes(forward(1), forward(2)));
}

BOOST_AUTO_TEST_CASE(a_step_along_the_gradient_makes_what_was_done_less_surprising) {
  const Policy policy(1);
  const std::vector<CartPoleState> state{{.position = 0.5, .velocity = -1, .angle = 0.1, .angular_velocity = 1.5}};
  const auto surprise = [&] {
    Generator generator(1);
    return sum(policy.decide(state, generator).surprise);
  };
  const Variable before = surprise();
  const troupe::Gradients gradients = troupe::backward(before);
  for (const Variable& parameter : policy.parameters()) {
    parameter.set_value(parameter.value() - gradients.of(parameter) * 0.01);
  }
  BOOST_TEST(surprise().value().item() < before.value().item());
}

BOOST_AUTO_TEST_SUITE_END()
