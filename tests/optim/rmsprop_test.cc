#include "optim/rmsprop.h"

#include <boost/test/unit_test.hpp>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::RMSprop;
using optim::RMSpropOptions;

BOOST_AUTO_TEST_SUITE(rmsprop)

BOOST_AUTO_TEST_CASE(gradients_are_divided_by_the_root_of_the_mean_of_squares) {
  RMSprop rmsprop({.lr = 0.5, .alpha = 0.75, .eps = 1.0});
  Parameter p({1.0});
  p.step(rmsprop, {6.0});  // v = 0.25*36; 0.5 * 6 / (3 + 1)
  expect(p.current(), {0.25});
  expect(rmsprop.state(0, "square_avg"), {9.0});
  p.step(rmsprop, {-3.0});  // v = 6.75 + 2.25
  expect(p.current(), {0.625});
  BOOST_TEST(!rmsprop.state(0, "grad_avg").defined());
  BOOST_TEST(!rmsprop.state(0, "momentum_buffer").defined());
}

BOOST_AUTO_TEST_CASE(centered_divides_by_the_deviation_from_the_mean) {
  RMSprop rmsprop({.lr = 0.5, .alpha = 0.5, .eps = 1.0, .centered = true});
  Parameter p({1.0});
  p.step(rmsprop, {4.0});  // v = 8, m = 2; 0.5 * 4 / (sqrt(8 - 4) + 1)
  expect(p.current(), {1.0 / 3.0});
  expect(rmsprop.state(0, "grad_avg"), {2.0});
  p.step(rmsprop, {-4.0});  // v = 12, m = -1; -0.5 * 4 / (sqrt(11) + 1)
  expect(p.current(), {1.0 / 3.0 + 2.0 / (3.3166247903554 + 1.0)});
}

BOOST_AUTO_TEST_CASE(momentum_keeps_a_share_of_the_last_direction) {
  RMSprop rmsprop({.lr = 0.5, .alpha = 0.75, .eps = 1.0, .momentum = 0.5});
  Parameter p({1.0});
  p.step(rmsprop, {6.0});  // b = 6/4
  expect(p.current(), {0.25});
  p.step(rmsprop, {-3.0});  // b = 0.75 - 3/4
  expect(p.current(), {0.25});
  p.step(rmsprop, {3.0});  // b = 0 + 3/4
  expect(p.current(), {-0.125});
  expect(rmsprop.state(0, "momentum_buffer"), {0.75});
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  RMSprop rmsprop({.lr = 0.5, .alpha = 0.75, .eps = 1.0, .weight_decay = 0.5, .maximize = true});
  Parameter p({4.0});
  p.step(rmsprop, {8.0});  // g' = -8 + 2, v = 9
  expect(p.current(), {4.75});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<RMSprop, RMSpropOptions>;
  refused({.lr = -0.1}, "[rmsprop] lr is not a number >= 0: -0.1");
  refused({.alpha = 1.5}, "[rmsprop] alpha is not a number in [0, 1]: 1.5");
  refused({.eps = -1.0}, "[rmsprop] eps is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[rmsprop] weight_decay is not a number >= 0: -1");
  refused({.momentum = -1.0}, "[rmsprop] momentum is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
