#include "optim/rprop.h"

#include <boost/test/unit_test.hpp>

#include <limits>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Rprop;
using optim::RpropOptions;

BOOST_AUTO_TEST_SUITE(rprop)

BOOST_AUTO_TEST_CASE(sizes_grow_while_signs_last_and_shrink_without_a_step_where_they_change) {
  Rprop rprop({.lr = 0.5, .eta_minus = 0.5, .eta_plus = 1.5});
  Parameter p({0.0, 0.0, 0.0});
  p.step(rprop, {1000.0, 0.001, 0.0});
  expect(p.current(), {-0.5, -0.5, 0.0});
  p.step(rprop, {3.0, -3.0, 3.0});  // the first keeps its direction, the second reverses, the third starts
  expect(p.current(), {-1.25, -0.5, -0.5});
  expect(rprop.state(0, "step_size"), {0.75, 0.25, 0.5});
  expect(rprop.state(0, "prev"), {3.0, 0.0, 3.0});
  p.step(rprop, {3.0, -3.0, -3.0});  // the second moves again, with its present step size
  expect(p.current(), {-2.375, -0.25, -0.5});
  expect(rprop.state(0, "step_size"), {1.125, 0.25, 0.25});
}

BOOST_AUTO_TEST_CASE(sizes_have_bounds) {
  Rprop rprop({.lr = 0.5, .eta_minus = 0.5, .eta_plus = 2.0, .step_size_min = 0.4, .step_size_max = 0.75});
  Parameter p({0.0, 0.0});
  p.step(rprop, {1.0, 1.0});
  p.step(rprop, {1.0, -1.0});
  expect(rprop.state(0, "step_size"), {0.75, 0.4});
  Rprop from_zero({.lr = 0.0, .step_size_min = 0.25});
  Parameter q({0.0});
  q.step(from_zero, {1.0});
  expect(q.current(), {-0.25});
}

BOOST_AUTO_TEST_CASE(another_lr_is_the_first_size_of_parameters_to_come) {
  Rprop rprop({.lr = 0.5});
  Parameter a({0.0});
  Parameter b({0.0});
  a.step(rprop, {1.0}, 0);
  rprop.set_lr(0.25);
  a.step(rprop, {0.0}, 0);
  b.step(rprop, {1.0}, 1);
  expect(rprop.state(0, "step_size"), {0.5});
  expect(b.current(), {-0.25});
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  Rprop rprop({.lr = 0.5, .maximize = true});
  Parameter p({1.0});
  p.step(rprop, {4.0});
  expect(p.current(), {1.5});
  expect(rprop.state(0, "prev"), {-4.0});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Rprop, RpropOptions>;
  refused({.lr = -0.1}, "[rprop] lr is not a number >= 0: -0.1");
  refused({.eta_minus = 1.0}, "[rprop] eta_minus is not a number in (0, 1): 1");
  refused({.eta_minus = 0.0}, "[rprop] eta_minus is not a number in (0, 1): 0");
  refused({.eta_plus = 1.0}, "[rprop] eta_plus is not a number above 1: 1");
  refused({.eta_plus = std::numeric_limits<double>::infinity()}, "[rprop] eta_plus is not a number above 1: inf");
  refused({.step_size_min = -1.0}, "[rprop] step_size_min is not a number >= 0: -1");
  refused({.step_size_max = -1.0}, "[rprop] step_size_max is not a number >= 0: -1");
  refused({.step_size_min = 2.0, .step_size_max = 1.0}, "[rprop] step_size_min is above step_size_max: 2 and 1");
}

BOOST_AUTO_TEST_SUITE_END()
