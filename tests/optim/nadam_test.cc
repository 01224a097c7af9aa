#include "optim/nadam.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

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
