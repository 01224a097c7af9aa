#include "optim/asgd.h"

#include <boost/test/unit_test.hpp>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Asgd;
using optim::AsgdOptions;

BOOST_AUTO_TEST_SUITE(asgd)

BOOST_AUTO_TEST_CASE(the_rate_falls_and_the_value_shrinks) {
  Asgd asgd({.lr = 0.5, .lambda = 0.5, .alpha = 1.0});
  Parameter p({4.0});
  p.step(asgd, {2.0});  // 4 * (1 - 0.25) - 0.5 * 2
  expect(p.current(), {2.0});
  p.step(asgd, {1.0});  // r = 0.5 / (1 + 0.25) = 0.4: 2 * (1 - 0.2) - 0.4
  expect(p.current(), {1.2});
  expect(asgd.state(0, "ax"), {1.2});
}

BOOST_AUTO_TEST_CASE(from_t0_on_the_mean_is_one) {
  Asgd asgd({.lr = 1.0, .lambda = 0.0, .t0 = 1.0});
  Parameter p({0.0});
  p.step(asgd, {-1.0});  // 1
  p.step(asgd, {-1.0});  // 2, and 2 - 1 - 1 is below 1
  p.step(asgd, {-1.0});  // 3, and 3 - 1 - 1 is 1
  expect(asgd.state(0, "ax"), {3.0});
  p.step(asgd, {-1.0});  // 4: 3 + (4 - 3) / 2
  expect(asgd.state(0, "ax"), {3.5});
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  Asgd asgd({.lr = 0.5, .lambda = 0.0, .weight_decay = 0.5, .maximize = true});
  Parameter p({2.0});
  p.step(asgd, {4.0});  // g' = -4 + 1
  expect(p.current(), {3.5});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Asgd, AsgdOptions>;
  refused({.lr = -0.1}, "[asgd] lr is not a number >= 0: -0.1");
  refused({.lambda = -1.0}, "[asgd] lambda is not a number >= 0: -1");
  refused({.alpha = -1.0}, "[asgd] alpha is not a number >= 0: -1");
  refused({.t0 = -1.0}, "[asgd] t0 is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[asgd] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
