#include "optim/adam.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <span>
#include <string>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Adam;
using optim::AdamOptions;
using optim::ParameterUpdate;

BOOST_AUTO_TEST_SUITE(adam)

BOOST_AUTO_TEST_CASE(a_first_step_is_as_long_as_the_rate_whatever_the_gradient) {
  Adam adam({.lr = 0.1, .eps = 0.0});
  Parameter p({1.0, 1.0, 1.0});
  p.step(adam, {4.0, -0.001, 5000.0});
  expect(p.current(), {0.9, 1.1, 0.9});
}

BOOST_AUTO_TEST_CASE(means_are_kept_and_corrected_for_their_beginning_at_zero) {
  Adam adam({.lr = 0.3, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.0});
  Parameter p({1.0});
  p.step(adam, {4.0});  // m = 0.5*4, v = 0.25*16; (2 / 0.5) / sqrt(4 / 0.25) = 1
  expect(p.current(), {0.7});
  expect(adam.state(0, "exp_avg"), {2.0});
  expect(adam.state(0, "exp_avg_sq"), {4.0});
  p.step(adam, {-10.0});  // m = 0.5*2 - 0.5*10, v = 0.75*4 + 0.25*100; (-4 / 0.75) / sqrt(28 / 0.4375) = -2/3
  expect(p.current(), {0.9});
  expect(adam.state(0, "exp_avg"), {-4.0});
  expect(adam.state(0, "exp_avg_sq"), {28.0});
}

BOOST_AUTO_TEST_CASE(eps_is_added_to_the_root) {
  Adam adam({.lr = 0.1, .eps = 4.0});
  Parameter p({1.0});
  p.step(adam, {4.0});  // 4 / (4 + 4)
  expect(p.current(), {0.95});
}

BOOST_AUTO_TEST_CASE(weight_decay_adds_a_share_of_the_value_to_the_gradient) {
  Adam adam({.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5});
  Parameter p({2.0});
  p.step(adam, {3.0});                         // g' = 3 + 0.5*2
  expect(adam.state(0, "exp_avg"), {2.0});     // 0.5*4
  expect(adam.state(0, "exp_avg_sq"), {4.0});  // 0.25*16
}

BOOST_AUTO_TEST_CASE(the_defaults_are_those_of_the_paper) {
  BOOST_TEST((AdamOptions{} == AdamOptions{.lr = 0.001, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0}));
}

BOOST_AUTO_TEST_CASE(each_parameter_counts_its_own_steps_and_one_left_out_keeps_its_state) {
  Adam adam({.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.0});
  Parameter a({1.0});
  Parameter b({1.0});
  a.step(adam, {4.0}, 0);
  a.step(adam, {4.0}, 0);
  b.step(adam, {8.0}, 3);
  expect(b.current(), {0.9});  // a first step
  BOOST_TEST(adam.steps(0) == 2);
  BOOST_TEST(adam.steps(3) == 1);
  expect(adam.state(0, "exp_avg"), {3.0});  // 0.5*2 + 0.5*4
  BOOST_TEST(!adam.state(1, "exp_avg").defined());
}

BOOST_AUTO_TEST_CASE(values_and_gradients_are_never_written_to) {
  Adam adam({.lr = 0.1, .weight_decay = 0.5});
  const ParameterUpdate update{0, f64({2.0}), f64({3.0}), f64({0.0})};
  adam.step(std::span(&update, 1));
  adam.step(std::span(&update, 1));
  expect(update.current, {2.0});
  expect(update.gradient, {3.0});
}

BOOST_AUTO_TEST_CASE(a_step_rolled_back_leaves_no_trace) {
  Adam adam({.lr = 0.3, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.0});
  Parameter p({1.0});
  const auto take_back = [&] {
    const ParameterUpdate updates[]{p.update({100.0})};
    adam.prepare(updates);
    adam.rollback();
  };
  take_back();
  BOOST_TEST(adam.steps(0) == 0);
  BOOST_TEST(!adam.state(0, "exp_avg_sq").defined());
  p.step(adam, {4.0});
  take_back();
  expect(adam.state(0, "exp_avg"), {2.0});
  p.step(adam, {-10.0});
  expect(p.current(), {0.9});  // as if the step between had not happened
}

BOOST_AUTO_TEST_CASE(single_precision_is_computed_in_single_precision) {
  Adam adam({.lr = 0.1});
  const ParameterUpdate update{0, from_values<float>({1.0F}), from_values<float>({3.0F}), from_values<float>({0.0F})};
  adam.step(std::span(&update, 1));
  BOOST_TEST((adam.state(0, "exp_avg").dtype() == DType::f32));
  BOOST_TEST(allclose(update.next, from_values<float>({0.9F}), 1e-6));  // a few roundings of f32
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Adam, AdamOptions>;
  refused({.lr = -0.1}, "[adam] lr is not a number >= 0: -0.1");
  refused({.lr = std::numeric_limits<double>::quiet_NaN()}, "[adam] lr is not a number >= 0: nan");
  refused({.beta1 = 1.0}, "[adam] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[adam] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = std::numeric_limits<double>::infinity()}, "[adam] eps is not a number >= 0: inf");
  refused({.weight_decay = -1.0}, "[adam] weight_decay is not a number >= 0: -1");
}

BOOST_AUTO_TEST_CASE(a_parameter_may_not_change_its_shape_between_steps) {
  Adam adam({.lr = 0.1});
  Parameter small({1.0});
  Parameter large({1.0, 2.0});
  small.step(adam, {1.0});
  const auto step = [&] { large.step(adam, {1.0, 1.0}); };
  expect_throw<ShapeError>(step, "[adam] parameter 0 is not what it was: f64 (2), before f64 (1)");
}

BOOST_AUTO_TEST_CASE(amsgrad_divides_by_the_largest_mean_of_squares_so_far) {
  Adam adam({.lr = 0.3, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.0, .amsgrad = true});
  Parameter p({1.0});
  p.step(adam, {4.0});  // m = 2, v = w = 4; (2 / 0.5) / sqrt(4 / 0.25) = 1
  expect(p.current(), {0.7});
  p.step(adam, {0.0});  // m = 1, v = 3, w = 4; (1 / 0.75) / sqrt(4 / 0.4375) = 0.4409585518440984
  expect(p.current(), {0.7 - 0.3 * 0.44095855184409843});
  expect(adam.state(0, "exp_avg_sq"), {3.0});
  expect(adam.state(0, "max_exp_avg_sq"), {4.0});
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  Adam adam({.lr = 0.1, .eps = 0.0, .maximize = true});
  Parameter p({1.0, 1.0});
  p.step(adam, {4.0, -0.001});
  expect(p.current(), {1.1, 0.9});
}

BOOST_AUTO_TEST_SUITE_END()
