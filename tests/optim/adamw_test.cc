#include "optim/adamw.h"

#include <boost/test/unit_test.hpp>

#include <limits>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::AdamW;
using optim::AdamWOptions;

BOOST_AUTO_TEST_SUITE(adamw)

BOOST_AUTO_TEST_CASE(decay_takes_a_share_of_the_value_and_leaves_the_gradient_alone) {
  AdamW adamw({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.0, .weight_decay = 0.2});
  Parameter p({10.0});
  p.step(adamw, {4.0});  // m = 2, v = 4; 0.9*10 - 0.5 * (2 / 0.5) / sqrt(4 / 0.25)
  expect(p.current(), {8.5});
  expect(adamw.state(0, "exp_avg"), {2.0});
  expect(adamw.state(0, "exp_avg_sq"), {4.0});
  p.step(adamw, {-10.0});  // m = -4, v = 28; 0.9*8.5 - 0.5 * (-4 / 0.75) / sqrt(28 / 0.4375) = 7.65 + 1/3
  expect(p.current(), {7.65 + 1.0 / 3.0});
}

BOOST_AUTO_TEST_CASE(amsgrad_divides_by_the_largest_mean_of_squares_so_far) {
  AdamW adamw({.lr = 0.3, .beta1 = 0.0, .beta2 = 0.75, .eps = 0.0, .weight_decay = 0.0, .amsgrad = true});
  Parameter p({1.0});
  p.step(adamw, {4.0});   // v = w = 4; 4 / sqrt(4 / 0.25)
  p.step(adamw, {-2.0});  // v = 3 + 1 = 4
  p.step(adamw, {0.0});   // v = 3, w = 4
  expect(adamw.state(0, "exp_avg_sq"), {3.0});
  expect(adamw.state(0, "max_exp_avg_sq"), {4.0});
  expect(p.current(), {0.7 + 0.3 * 2.0 * 0.33071891388307384});  // 1 / sqrt(4 / 0.4375)
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  AdamW adamw({.lr = 0.5, .eps = 0.0, .weight_decay = 0.2, .maximize = true});
  Parameter p({10.0});
  p.step(adamw, {4.0});
  expect(p.current(), {9.5});  // 0.9*10 + 0.5
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<AdamW, AdamWOptions>;
  refused({.lr = -0.1}, "[adamw] lr is not a number >= 0: -0.1");
  refused({.beta1 = 1.0}, "[adamw] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[adamw] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = std::numeric_limits<double>::infinity()}, "[adamw] eps is not a number >= 0: inf");
  refused({.weight_decay = -1.0}, "[adamw] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
