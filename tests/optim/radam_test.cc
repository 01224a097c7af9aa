#include "optim/radam.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::RAdam;
using optim::RAdamOptions;

BOOST_AUTO_TEST_SUITE(radam)

BOOST_AUTO_TEST_CASE(the_first_steps_follow_the_mean_alone) {
  RAdam radam({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.9});
  Parameter p({1.0});
  p.step(radam, {3.0});  // m = 1.5; 0.5 / 0.5 * 1.5
  expect(p.current(), {-0.5});
  // The rule does not use a square that overflows f64.
  RAdam large({.lr = 1e-200, .beta1 = 0.0});
  Parameter q({0.0});
  q.step(large, {1e200});
  expect(q.current(), {-1.0});
}

BOOST_AUTO_TEST_CASE(later_steps_are_divided_and_rectified) {
  // n = 2 / 0.1 - 1 = 19; at step 8 of the same gradient k = 19 - 16 * 0.9^8 / (1 - 0.9^8) is above 5.
  RAdam radam({.lr = 0.5, .beta1 = 0.0, .beta2 = 0.9, .eps = 0.0});
  Parameter p({0.0});
  for (int i = 0; i < 7; ++i) p.step(radam, {2.0});
  const double before = p.current().item();
  p.step(radam, {2.0});
  const double power = std::pow(0.9, 8);
  const double k = 19.0 - 16.0 * power / (1.0 - power);
  BOOST_REQUIRE(k > 5.0);
  const double r = std::sqrt((k - 4.0) * (k - 2.0) * 19.0 / (15.0 * 17.0 * k));
  // v = 4 * (1 - 0.9^8): its square root cancels the root of the bias correction.
  expect(p.current(), {before - 0.5 * 2.0 * r / 2.0});
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  RAdam radam({.lr = 0.5, .beta1 = 0.0, .weight_decay = 0.5, .maximize = true});
  Parameter p({2.0});
  p.step(radam, {4.0});  // g' = -4 + 1
  expect(p.current(), {3.5});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<RAdam, RAdamOptions>;
  refused({.lr = -0.1}, "[radam] lr is not a number >= 0: -0.1");
  refused({.beta1 = 1.0}, "[radam] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[radam] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = -1.0}, "[radam] eps is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[radam] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
