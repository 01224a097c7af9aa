#include "optim/adagrad.h"

#include <boost/test/unit_test.hpp>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Adagrad;
using optim::AdagradOptions;

BOOST_AUTO_TEST_SUITE(adagrad)

BOOST_AUTO_TEST_CASE(squares_add_up_under_the_root) {
  Adagrad adagrad({.lr = 0.5, .eps = 0.0});
  Parameter p({1.0, 1.0});
  p.step(adagrad, {3.0, -0.001});
  expect(p.current(), {0.5, 1.5});
  p.step(adagrad, {4.0, 0.0});  // s = 9 + 16; 0.5 * 4 / 5
  expect(p.current(), {0.1, 1.5});
  expect(adagrad.state(0, "sum"), {25.0, 1e-6});
}

BOOST_AUTO_TEST_CASE(the_sum_may_begin_above_zero_and_eps_is_added_to_the_root) {
  Adagrad adagrad({.lr = 0.5, .initial_accumulator_value = 16.0, .eps = 3.0});
  Parameter p({1.0});
  p.step(adagrad, {3.0});  // s = 16 + 9; 0.5 * 3 / (5 + 3)
  expect(p.current(), {1.0 - 1.5 / 8.0});
}

BOOST_AUTO_TEST_CASE(the_step_size_shrinks_with_the_parameters_own_steps) {
  Adagrad adagrad({.lr = 0.5, .lr_decay = 0.25, .eps = 0.0});
  Parameter p({1.0});
  Parameter other({1.0});
  p.step(adagrad, {3.0});
  expect(p.current(), {0.5});
  p.step(adagrad, {4.0});  // 0.5 / 1.25 * 4 / 5
  expect(p.current(), {0.18});
  other.step(adagrad, {3.0}, 1);
  expect(other.current(), {0.5});
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  Adagrad adagrad({.lr = 0.5, .weight_decay = 0.5, .eps = 0.0, .maximize = true});
  Parameter p({2.0});
  p.step(adagrad, {4.0});  // g' = -4 + 1
  expect(p.current(), {2.5});
  expect(adagrad.state(0, "sum"), {9.0});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Adagrad, AdagradOptions>;
  refused({.lr = -0.1}, "[adagrad] lr is not a number >= 0: -0.1");
  refused({.lr_decay = -1.0}, "[adagrad] lr_decay is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[adagrad] weight_decay is not a number >= 0: -1");
  refused({.initial_accumulator_value = -1.0}, "[adagrad] initial_accumulator_value is not a number >= 0: -1");
  refused({.eps = -1.0}, "[adagrad] eps is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
