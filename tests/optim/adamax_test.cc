#include "optim/adamax.h"

#include <boost/test/unit_test.hpp>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Adamax;
using optim::AdamaxOptions;

BOOST_AUTO_TEST_SUITE(adamax)

BOOST_AUTO_TEST_CASE(the_mean_is_divided_by_the_largest_gradient_which_fades) {
  Adamax adamax({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0});
  Parameter p({1.0});
  p.step(adamax, {7.0});  // m = 3.5, u = 7 + 1; 0.5 / 0.5 * 3.5 / 8
  expect(p.current(), {0.5625});
  p.step(adamax, {-2.0});  // m = 0.75, u = 0.75*8, since 2 + 1 is less; 0.5 / 0.75 * 0.75 / 6
  expect(p.current(), {0.5625 - 0.5 / 6.0});
  expect(adamax.state(0, "exp_avg"), {0.75});
  expect(adamax.state(0, "exp_inf"), {6.0});
  p.step(adamax, {-7.0});  // u = 7 + 1, since 0.75*6 is less
  expect(adamax.state(0, "exp_inf"), {8.0});
}

BOOST_AUTO_TEST_CASE(decay_enters_the_gradient_and_maximize_turns_only_that) {
  Adamax adamax({.lr = 0.5, .beta1 = 0.5, .eps = 2.0, .weight_decay = 0.5, .maximize = true});
  Parameter p({4.0});
  p.step(adamax, {8.0});  // g' = -8 + 2, m = -3, u = 6 + 2
  expect(p.current(), {4.375});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Adamax, AdamaxOptions>;
  refused({.lr = -0.1}, "[adamax] lr is not a number >= 0: -0.1");
  refused({.beta1 = 1.0}, "[adamax] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[adamax] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = -1.0}, "[adamax] eps is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[adamax] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
