#include "optim/sgd.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::ParameterUpdate;
using optim::Sgd;
using optim::SgdOptions;

BOOST_AUTO_TEST_SUITE(sgd)

BOOST_AUTO_TEST_CASE(a_plain_step_goes_against_the_gradient) {
  Sgd sgd({.lr = 0.1});
  Parameter p({1.0, -2.0});
  p.step(sgd, {4.0, 10.0});
  expect(p.current(), {0.6, -3.0});  // 1 - 0.1*4, -2 - 0.1*10
  BOOST_CHECK(!sgd.state(0, "momentum_buffer").defined());
}

BOOST_AUTO_TEST_CASE(weight_decay_adds_a_share_of_the_value_to_the_gradient) {
  Sgd sgd({.lr = 0.1, .weight_decay = 0.5});
  Parameter p({2.0});
  p.step(sgd, {4.0});
  expect(p.current(), {1.5});  // 2 - 0.1 * (4 + 0.5*2)
}

BOOST_AUTO_TEST_CASE(momentum_keeps_a_share_of_the_last_direction) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5});
  Parameter p({1.0});
  p.step(sgd, {4.0});  // v = 4
  expect(p.current(), {0.6});
  p.step(sgd, {2.0});  // v = 0.5*4 + 2 = 4
  expect(p.current(), {0.2});
  p.step(sgd, {1.0});  // v = 0.5*4 + 1 = 3
  expect(p.current(), {-0.1});
  expect(sgd.state(0, "momentum_buffer"), {3.0});
  BOOST_TEST(!sgd.state(0, "exp_avg").defined());
}

BOOST_AUTO_TEST_CASE(dampening_shrinks_the_gradient_from_the_second_step_on) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5, .dampening = 0.25});
  Parameter p({1.0});
  p.step(sgd, {4.0});  // v = 4, undampened
  expect(p.current(), {0.6});
  p.step(sgd, {4.0});  // v = 0.5*4 + 0.75*4 = 5
  expect(p.current(), {0.1});
}

BOOST_AUTO_TEST_CASE(nesterov_looks_ahead_along_the_direction) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5, .nesterov = true});
  Parameter p({1.0});
  p.step(sgd, {4.0});  // v = 4, d = 4 + 0.5*4 = 6
  expect(p.current(), {0.4});
  p.step(sgd, {2.0});  // v = 0.5*4 + 2 = 4, d = 2 + 0.5*4 = 4
  expect(p.current(), {0.0});
}

BOOST_AUTO_TEST_CASE(all_settings_together_follow_the_equations) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5, .weight_decay = 0.5, .nesterov = true});
  Parameter p({2.0});
  p.step(sgd, {3.0});  // g' = 3 + 1 = 4, v = 4, d = 6
  expect(p.current(), {1.4});
  p.step(sgd, {1.3});  // g' = 1.3 + 0.7 = 2, v = 2 + 2 = 4, d = 2 + 2 = 4
  expect(p.current(), {1.0});
}

BOOST_AUTO_TEST_CASE(each_parameter_has_a_state_of_its_own_and_one_left_out_keeps_it) {
  Sgd sgd({.lr = 1.0, .momentum = 0.5});
  Parameter a({0.0});
  Parameter b({0.0});
  a.step(sgd, {8.0}, 0);
  b.step(sgd, {2.0}, 3);
  b.step(sgd, {2.0}, 3);
  expect(sgd.state(0, "momentum_buffer"), {8.0});
  expect(sgd.state(3, "momentum_buffer"), {3.0});  // 0.5*2 + 2
  BOOST_CHECK(!sgd.state(1, "momentum_buffer").defined());
}

BOOST_AUTO_TEST_CASE(values_and_gradients_are_never_written_to, *boost::unit_test::label("Z-02")) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5, .weight_decay = 0.5, .nesterov = true});
  const ParameterUpdate update{0, f64({2.0}), f64({3.0}), f64({0.0})};
  sgd.step(std::span(&update, 1));
  sgd.step(std::span(&update, 1));
  expect(update.current, {2.0});
  expect(update.gradient, {3.0});
}

BOOST_AUTO_TEST_CASE(a_step_rolled_back_leaves_no_trace) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5});
  Parameter p({1.0});
  p.step(sgd, {4.0});
  const ParameterUpdate updates[]{p.update({100.0})};
  sgd.prepare(updates);
  sgd.rollback();
  expect(sgd.state(0, "momentum_buffer"), {4.0});
  p.step(sgd, {2.0});
  expect(p.current(), {0.2});  // as if the step between had not happened
}

BOOST_AUTO_TEST_CASE(a_first_step_rolled_back_was_never_a_first_step) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5, .dampening = 0.25});
  Parameter p({1.0});
  const ParameterUpdate updates[]{p.update({100.0})};
  sgd.prepare(updates);
  sgd.rollback();
  BOOST_CHECK(!sgd.state(0, "momentum_buffer").defined());
  p.step(sgd, {4.0});
  expect(p.current(), {0.6});
}

BOOST_AUTO_TEST_CASE(halves_of_steps_in_the_wrong_order_are_refused) {
  Sgd sgd({.lr = 0.1});
  Parameter p({1.0});
  const ParameterUpdate updates[]{p.update({1.0})};
  expect_throw<std::logic_error>([&] { sgd.commit(); }, "[sgd] there is no prepared step to commit");
  expect_throw<std::logic_error>([&] { sgd.rollback(); }, "[sgd] there is no prepared step to roll back");
  sgd.prepare(updates);
  expect_throw<std::logic_error>([&] { sgd.prepare(updates); },
                                 "[sgd] the step before was neither committed nor rolled back");
  sgd.commit();
}

BOOST_AUTO_TEST_CASE(single_precision_is_computed_in_single_precision) {
  Sgd sgd({.lr = 0.1});
  const ParameterUpdate update{0, from_values<float>({1.0F}), from_values<float>({3.0F}), from_values<float>({0.0F})};
  sgd.step(std::span(&update, 1));
  const float lr = 0.1F;
  const float product = lr * 3.0F;
  BOOST_CHECK_EQUAL(update.next.item<float>(), 1.0F - product);
}

BOOST_AUTO_TEST_CASE(gradients_of_any_layout_are_read) {
  Sgd sgd({.lr = 1.0, .momentum = 0.5});
  const Tensor gradient = from_values<double>({1.0, 2.0, 3.0, 4.0}, {2, 2}).transpose();
  const Tensor next = zeros({2, 2}, DType::f64);
  const ParameterUpdate update{0, zeros({2, 2}, DType::f64), gradient, next};
  sgd.step(std::span(&update, 1));
  BOOST_CHECK(allclose(next, from_values<double>({-1.0, -3.0, -2.0, -4.0}, {2, 2}), 0.0, 0.0));
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<Sgd, SgdOptions>;
  refused({.lr = -0.1}, "[sgd] lr is not a number >= 0: -0.1");
  refused({.lr = std::numeric_limits<double>::quiet_NaN()}, "[sgd] lr is not a number >= 0: nan");
  refused({.lr = std::numeric_limits<double>::infinity()}, "[sgd] lr is not a number >= 0: inf");
  refused({.momentum = -1.0}, "[sgd] momentum is not a number >= 0: -1");
  refused({.dampening = std::numeric_limits<double>::infinity()}, "[sgd] dampening is not a number: inf");
  refused({.weight_decay = -0.5}, "[sgd] weight_decay is not a number >= 0: -0.5");
  refused({.nesterov = true}, "[sgd] nesterov needs momentum > 0 and dampening = 0: momentum 0, dampening 0");
  refused({.momentum = 0.9, .dampening = 0.1, .nesterov = true},
          "[sgd] nesterov needs momentum > 0 and dampening = 0: momentum 0.9, dampening 0.1");
}

BOOST_AUTO_TEST_CASE(parameters_that_do_not_fit_are_refused_before_anything_is_written) {
  Sgd sgd({.lr = 0.1, .momentum = 0.9});
  const Tensor one = f64({1.0});
  const Tensor untouched = f64({7.0});
  auto refused = [&]<class Exception>(std::type_identity<Exception>, const ParameterUpdate& bad,
                                      const std::string& text) {
    const ParameterUpdate updates[]{{0, one, one, untouched}, bad};
    expect_throw<Exception>([&] { sgd.step(updates); }, text);
    expect(untouched, {7.0});
  };
  const std::type_identity<TensorError> tensor_error;
  const std::type_identity<ShapeError> shape_error;
  const std::type_identity<DTypeError> dtype_error;
  const std::type_identity<ValueError> value_error;
  refused(tensor_error, {1, Tensor(), one, f64({0.0})}, "[sgd] parameter 1 has no value");
  refused(tensor_error, {1, one, Tensor(), f64({0.0})}, "[sgd] parameter 1 has no gradient");
  refused(tensor_error, {1, one, one, Tensor()}, "[sgd] parameter 1 has no second buffer");
  refused(shape_error, {1, one, f64({1.0, 2.0}), f64({0.0})},
          "[sgd] the gradient of parameter 1 has another shape: (2), the value (1)");
  refused(dtype_error, {1, one, from_values<float>({1.0F}), f64({0.0})},
          "[sgd] the gradient of parameter 1 has another dtype: f32, the value f64");
  refused(shape_error, {1, one, one, f64({0.0, 0.0})},
          "[sgd] the second buffer of parameter 1 has another shape: (2), the value (1)");
  refused(dtype_error, {1, arange(1), arange(1), arange(1)}, "[sgd] parameter 1 is not floating point: i64");
  refused(value_error, {1, one, one, one}, "[sgd] the second buffer of parameter 1 is memory that is read");
  refused(value_error, {0, one, one, f64({0.0})}, "[sgd] parameter 0 occurs twice in one step");
  const Tensor strided = zeros({2, 2}, DType::f64).select(1, 0);
  refused(value_error, {1, f64({1.0, 2.0}), f64({1.0, 2.0}), strided},
          "[sgd] the second buffer of parameter 1 is not contiguous");
}

BOOST_AUTO_TEST_CASE(a_parameter_may_not_change_its_shape_between_steps) {
  Sgd sgd({.lr = 0.1, .momentum = 0.9});
  Parameter small({1.0});
  Parameter large({1.0, 2.0});
  small.step(sgd, {1.0});
  expect_throw<ShapeError>(
      [&] {
        large.step(sgd, {1.0, 1.0});
      },
      "[sgd] parameter 0 is not what it was: f64 (2), before f64 (1)");
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  Sgd sgd({.lr = 0.1, .weight_decay = 0.5, .maximize = true});
  Parameter p({2.0});
  p.step(sgd, {4.0});
  expect(p.current(), {2.3});  // 2 - 0.1 * (-4 + 0.5*2)
}

BOOST_AUTO_TEST_SUITE_END()
