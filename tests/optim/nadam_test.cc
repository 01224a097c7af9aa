#include "optim/nadam.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "optim/adam.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::NAdam;
using optim::NAdamOptions;

BOOST_AUTO_TEST_SUITE(nadam)

BOOST_AUTO_TEST_CASE(a_step_goes_along_the_gradient_and_the_mean) {
  // Without momentum_decay u is beta1 / 2 = U(1) = 1/4.
  NAdam nadam({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0, .momentum_decay = 0.0});
  Parameter p({1.0});
  p.step(nadam, {3.0});  // m = 1.5, v = 2.25, d = sqrt(2.25 / 0.25) + 1 = 4
  // 0.5 * (3/4) / (3/4) * 3 / 4, and 0.5 * (1/4) / (1 - 1/16) * 1.5 / 4
  expect(p.current(), {1.0 - 0.375 - 0.05});
  expect(nadam.state(0, "exp_avg"), {1.5});
  expect(nadam.state(0, "exp_avg_sq"), {2.25});
}

BOOST_AUTO_TEST_CASE(steps_are_those_of_torch) {  // NAdam(foreach=True) of torch 1.13, in f64
  NAdam nadam({.lr = 0.01, .weight_decay = 0.1, .momentum_decay = 0.05});
  Parameter p({1.0});
  p.step(nadam, {3.0});
  expect(p.current(), {0.9894325560001785});
  p.step(nadam, {-1.0});
  expect(p.current(), {0.9917377166023322});
  p.step(nadam, {2.0});
  expect(p.current(), {0.9852352823511721});
}

// NAdam(foreach=True) of torch 1.13, in f64; `betas` of the group set before each step.
constexpr std::array kMomenta{0.95, 0.9, 0.5, 0.8};
constexpr std::array kGradients{3.0, -1.0, 2.0, 1.0};
constexpr std::array kValues{0.9896915014225428, 0.9927367324219142, 0.984205904832054, 0.9789191546998143};

BOOST_AUTO_TEST_CASE(steps_with_a_momentum_each_are_those_of_torch) {
  NAdam nadam({.lr = 0.01, .beta1 = 0.95, .momentum_decay = 0.05});
  Parameter p({1.0});
  for (std::size_t i = 0; i < kMomenta.size(); ++i) {
    nadam.set_momentum(kMomenta[i]);
    p.step(nadam, {kGradients[i]});
    expect(p.current(), {kValues[i]});
  }
}

BOOST_AUTO_TEST_CASE(steps_in_two_halves_have_a_momentum_each) {
  NAdam nadam({.lr = 0.01, .beta1 = 0.95, .momentum_decay = 0.05});
  Tensor current = f64({1.0});
  Tensor next = f64({0.0});
  for (std::size_t i = 0; i < kMomenta.size(); ++i) {
    const optim::ParameterUpdate updates[]{{0, current, f64({kGradients[i]}), next}};
    nadam.set_momentum(0.1);
    nadam.prepare(updates);
    nadam.rollback();
    nadam.set_momentum(kMomenta[i]);
    nadam.prepare(updates);
    nadam.commit();
    std::swap(current, next);
    expect(current, {kValues[i]});
  }
}

BOOST_AUTO_TEST_CASE(saved_state_has_the_product_of_all_momenta) {
  NAdam nadam({.lr = 0.01, .beta1 = 0.95, .momentum_decay = 0.05});
  Parameter p({1.0});
  p.step(nadam, {kGradients[0]});
  nadam.set_momentum(kMomenta[1]);
  p.step(nadam, {kGradients[1]});
  const NamedTensors state = nadam.state_dict();
  BOOST_TEST(nadam.state_dict_size() == state.size());
  BOOST_TEST(state.back().first == "parameters.0.mu_product");
  BOOST_TEST(state.back().second.item<double>() == 0.21505840722949193,
             boost::test_tools::tolerance(1e-14));  // torch's

  NAdam loaded({.lr = 0.01, .beta1 = 0.95, .momentum_decay = 0.05});
  loaded.load_state_dict(state);
  loaded.set_momentum(kMomenta[2]);
  p.step(loaded, {kGradients[2]});
  expect(p.current(), {kValues[2]});
}

BOOST_AUTO_TEST_CASE(state_without_the_product_continues_with_the_momentum_of_its_next_step) {
  const NAdamOptions options{.lr = 0.01, .momentum_decay = 0.05};
  NAdam nadam(options);
  Parameter p({1.0});
  p.step(nadam, {3.0});
  p.step(nadam, {-1.0});
  NamedTensors state = nadam.state_dict();
  state.pop_back();
  NAdam loaded(options);
  loaded.load_state_dict(state);
  BOOST_TEST(loaded.state_dict_size() == state.size());
  Parameter q = p;
  p.step(nadam, {2.0});
  q.step(loaded, {2.0});
  BOOST_TEST(same_bytes(q.current(), p.current()));
  BOOST_TEST(same_bytes(loaded.state_dict().back().second, nadam.state_dict().back().second));
}

BOOST_AUTO_TEST_CASE(state_with_another_product_than_steps_have_is_refused) {
  NAdam nadam({});
  Parameter p({1.0});
  p.step(nadam, {3.0});
  NamedTensors state = nadam.state_dict();
  state.back().second = full({}, 1.0, DType::f64);
  expect_throw<ValueError>([&] { nadam.load_state_dict(state); },
                           "[load_state_dict] parameters.0.mu_product is 1, not in [0, 1)");
  state.back().second = full({}, 0.5);
  expect_throw<ValueError>([&] { nadam.load_state_dict(state); },
                           "[load_state_dict] parameters.0.mu_product is f32 (), not f64 ()");
  optim::Adam adam({});
  p.step(adam, {3.0});
  NamedTensors other = adam.state_dict();
  other.emplace_back("parameters.0.mu_product", full({}, 0.5, DType::f64));
  expect_throw<ValueError>([&] { adam.load_state_dict(other); },
                           "[load_state_dict] unexpected: parameters.0.mu_product");
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  NAdam nadam({.lr = 0.5, .beta1 = 0.0, .beta2 = 0.0, .eps = 1.0, .weight_decay = 0.5, .maximize = true});
  Parameter p({2.0});
  p.step(nadam, {4.0});  // g' = -4 + 1, d = 3 + 1, and no momentum: 2 + 0.5 * 3 / 4
  expect(p.current(), {2.375});
}

BOOST_AUTO_TEST_CASE(late_steps_cost_no_more_than_early_ones) {
  NAdam nadam({.lr = 1e-3});
  Parameter p({1.0});
  for (int i = 0; i < 2000; ++i) p.step(nadam, {1.0});
  // With a gradient of 1 each step has the length lr: u(t) converges to beta1 / 2 * (1 + ...) and both parts add up to
  // it.
  const double before = p.current().item();
  p.step(nadam, {1.0});
  BOOST_TEST(before - p.current().item() == 1e-3, boost::test_tools::tolerance(1e-2));
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<NAdam, NAdamOptions>;
  refused({.lr = -0.1}, "[nadam] lr is not a number >= 0: -0.1");
  refused({.beta1 = 1.0}, "[nadam] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[nadam] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = -1.0}, "[nadam] eps is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[nadam] weight_decay is not a number >= 0: -1");
  refused({.momentum_decay = -1.0}, "[nadam] momentum_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
