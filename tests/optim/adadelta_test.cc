#include "optim/adadelta.h"

#include <boost/test/unit_test.hpp>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Adadelta;
using optim::AdadeltaOptions;

BOOST_AUTO_TEST_SUITE(adadelta)

BOOST_AUTO_TEST_CASE(steps_are_as_long_as_past_steps_were_per_gradient) {
  Adadelta adadelta({.rho = 0.5, .eps = 1.0});
  Parameter p({1.0});
  p.step(adadelta, {4.0});  // v = 8, d = sqrt(0 + 1) / sqrt(8 + 1) * 4 = 4/3, u = 0.5 * 16/9
  expect(p.current(), {1.0 - 4.0 / 3.0});
  expect(adadelta.state(0, "square_avg"), {8.0});
  expect(adadelta.state(0, "acc_delta"), {8.0 / 9.0});
  p.step(adadelta, {-2.0});  // v = 4 + 2, d = -2 * sqrt(17/9) / sqrt(7), u = 4/9 + 0.5 * 4 * 17/63
  expect(adadelta.state(0, "square_avg"), {6.0});
  expect(adadelta.state(0, "acc_delta"), {62.0 / 63.0});         // 28/63 + 34/63
  expect(p.current(), {-1.0 / 3.0 + 2.0 * 0.5194624816493197});  // sqrt(17/63)
}

BOOST_AUTO_TEST_CASE(the_step_size_multiplies_the_step_and_decay_enters_the_gradient) {
  Adadelta adadelta({.lr = 0.25, .rho = 0.5, .eps = 1.0, .weight_decay = 0.5});
  Parameter p({2.0});
  p.step(adadelta, {3.0});  // g' = 4, d = 4/3
  expect(p.current(), {2.0 - 1.0 / 3.0});
  expect(adadelta.state(0, "acc_delta"), {8.0 / 9.0});
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  Adadelta adadelta({.rho = 0.5, .eps = 1.0, .maximize = true});
  Parameter p({1.0});
  p.step(adadelta, {4.0});
  expect(p.current(), {1.0 + 4.0 / 3.0});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Adadelta, AdadeltaOptions>;
  refused({.lr = -0.1}, "[adadelta] lr is not a number >= 0: -0.1");
  refused({.rho = 2.0}, "[adadelta] rho is not a number in [0, 1]: 2");
  refused({.rho = -0.5}, "[adadelta] rho is not a number in [0, 1]: -0.5");
  refused({.eps = -1.0}, "[adadelta] eps is not a number >= 0: -1");
  refused({.weight_decay = -1.0}, "[adadelta] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
