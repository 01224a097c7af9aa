// Properties of every rule, tested with one or two of them.
#include "optim/optimizer.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "optim/adam.h"
#include "optim/rule_options.h"
#include "optim/sgd.h"
#include "tensor/ops.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Adam;
using optim::Optimizer;
using optim::ParameterUpdate;
using optim::Sgd;

BOOST_AUTO_TEST_SUITE(optimizer)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor step_once(Optimizer& rule, const Tensor& value, const Tensor& gradient, const optim::StepOptions& options = {}) {
  const ParameterUpdate update{0, value, gradient, empty(value.shape(), value.dtype())};
  rule.step(std::span(&update, 1), options);
  return update.next;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_and_its_two_halves_give_the_same_bits) {
  Generator generator(1);
  Adam whole({.lr = 0.1, .amsgrad = true});
  Adam halves({.lr = 0.1, .amsgrad = true});
  Tensor value = randn({301}, generator);
  for (int i = 0; i < 4; ++i) {
    const Tensor gradient = randn({301}, generator);
    const ParameterUpdate update{0, value, gradient, empty({301})};
    halves.prepare(std::span(&update, 1));
    halves.commit();
    value = step_once(whole, value, gradient);
    BOOST_TEST(same_bytes(value, update.next));
    for (const char* name : {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}) {
      BOOST_TEST(same_bytes(whole.state(0, name), halves.state(0, name)));
    }
  }
  BOOST_TEST(whole.steps(0) == 4);
}

BOOST_AUTO_TEST_CASE(updates_that_are_added_to_a_prepared_step_belong_to_it) {
  Adam whole({.lr = 0.1});
  Adam parts({.lr = 0.1});
  const Tensor value = f64({1.0, 2.0});
  const auto update = [&](std::size_t index, double gradient) {
    return ParameterUpdate{index, value, f64({gradient, gradient}), f64({0.0, 0.0})};
  };
  for (int step = 0; step < 3; ++step) {
    const ParameterUpdate all[]{update(0, 3.0), update(1, 4.0), update(2, 5.0)};
    whole.step(all);
    const ParameterUpdate first = update(1, 4.0);
    const ParameterUpdate others[]{update(0, 3.0), update(2, 5.0)};
    parts.prepare({});
    parts.prepare_more(std::span(&first, 1));
    expect_throw<ValueError>([&] { parts.prepare_more(std::span(&first, 1)); },
                             "[adam] parameter 1 occurs twice in one step");
    parts.prepare_more(others);
    parts.commit();
    BOOST_TEST(same_bytes(first.next, all[1].next));
    BOOST_TEST(same_bytes(others[1].next, all[2].next));
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(same_bytes(parts.state(i, "exp_avg"), whole.state(i, "exp_avg")));
  }
  const ParameterUpdate late = update(0, 1.0);
  expect_throw<std::logic_error>([&] { parts.prepare_more(std::span(&late, 1)); },
                                 "[adam] there is no prepared step to add to");
  parts.prepare({});
  parts.prepare_more(std::span(&late, 1));
  parts.rollback();
  BOOST_TEST(parts.steps(0) == 3);
}

BOOST_AUTO_TEST_CASE(a_state_that_was_asked_for_does_not_change_with_later_steps) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5});
  Parameter p({1.0});
  p.step(sgd, {4.0});
  const Tensor first = sgd.state(0, "momentum_buffer");
  p.step(sgd, {4.0});
  const Tensor second = sgd.state(0, "momentum_buffer");
  const ParameterUpdate updates[]{p.update({4.0})};
  sgd.prepare(updates);
  sgd.commit();
  sgd.prepare(updates);
  sgd.commit();
  expect(first, {4.0});
  expect(second, {6.0});                           // 0.5*4 + 4
  expect(sgd.state(0, "momentum_buffer"), {7.5});  // 0.5*(0.5*6 + 4) + 4
}

BOOST_AUTO_TEST_CASE(a_state_that_was_asked_for_belongs_to_who_asked) {
  Sgd sgd({.lr = 0.1, .momentum = 0.5});
  Parameter p({1.0});
  p.step(sgd, {4.0});
  sgd.state(0, "momentum_buffer").fill(100.0);
  expect(sgd.state(0, "momentum_buffer"), {4.0});
}

BOOST_AUTO_TEST_CASE(gradients_are_scaled_and_then_limited) {
  Sgd sgd({.lr = 1.0});
  const Tensor gradient = f64({1.0, -8.0, 8.0});
  expect(step_once(sgd, f64({0.0, 0.0, 0.0}), gradient, {.gradient_scale = 0.5}), {-0.5, 4.0, -4.0});
  expect(step_once(sgd, f64({0.0, 0.0, 0.0}), gradient, {.gradient_scale = 0.5, .gradient_limit = 3.0}),
         {-0.5, 3.0, -3.0});
  expect(gradient, {1.0, -8.0, 8.0});
  const Tensor from_nan = step_once(sgd, f64({0.0}), f64({kNaN}), {.gradient_limit = 3.0});
  BOOST_TEST(std::isnan(from_nan.item()));
}

BOOST_AUTO_TEST_CASE(decay_is_no_part_of_the_gradient_that_is_scaled) {
  Sgd sgd({.lr = 0.1, .weight_decay = 0.5});
  // 2 - 0.1 * (0.25*4 + 0.5*2)
  expect(step_once(sgd, f64({2.0}), f64({4.0}), {.gradient_scale = 0.25}), {1.8});
}

BOOST_AUTO_TEST_CASE(without_decay_a_value_does_not_enter_its_gradient) {
  Adam adam({.lr = 0.1});
  step_once(adam, f64({kInfinity, kNaN}), f64({1.0, 1.0}));
  expect(adam.state(0, "exp_avg"), {0.1, 0.1});
}

BOOST_AUTO_TEST_CASE(step_options_that_make_no_sense_are_refused) {
  Sgd sgd({.lr = 0.1});
  const auto refused = [&](const optim::StepOptions& options, const std::string& text) {
    expect_throw<ValueError>([&] { step_once(sgd, f64({1.0}), f64({1.0}), options); }, text);
  };
  refused({.gradient_scale = kNaN}, "[sgd] gradient_scale is not a number: nan");
  refused({.gradient_limit = -1.0}, "[sgd] gradient_limit is not >= 0: -1");
  refused({.gradient_limit = kNaN}, "[sgd] gradient_limit is not >= 0: nan");
  BOOST_TEST(sgd.steps(0) == 0);
}

BOOST_AUTO_TEST_CASE(the_step_size_can_change_between_steps) {
  Sgd sgd({.lr = 0.1});
  Parameter p({1.0});
  BOOST_TEST(sgd.lr() == 0.1);
  sgd.set_lr(0.5);
  p.step(sgd, {1.0});
  expect(p.current(), {0.5});
  BOOST_TEST((sgd.options() == optim::SgdOptions{.lr = 0.5}));
  expect_throw<ValueError>([&] { sgd.set_lr(kNaN); }, "[sgd] lr is not a number >= 0: nan");
  BOOST_TEST(sgd.lr() == 0.5);
}

BOOST_AUTO_TEST_CASE(parameters_of_any_size_and_dtype_take_one_step_together) {
  Sgd sgd({.lr = 1.0, .momentum = 0.5});
  const std::vector<ParameterUpdate> updates{
      {0, f64({1.0}), f64({3.0}), f64({0.0})},
      {1, empty({0, 3}), empty({0, 3}), empty({0, 3})},
      {7, full({3000}, 2.0), full({3000}, 0.5), empty({3000})},
      {2, full({}, 1.0, DType::bf16), full({}, 2.0, DType::bf16), empty({}, DType::bf16)}};
  sgd.step(updates);
  expect(updates[0].next, {-2.0});
  BOOST_TEST(same_bytes(updates[2].next, full({3000}, 1.5)));
  BOOST_TEST(updates[3].next.item() == -1.0);
  BOOST_TEST(sgd.state(1, "momentum_buffer").numel() == 0);
}

BOOST_AUTO_TEST_CASE(values_of_any_layout_are_read) {
  Sgd sgd({.lr = 1.0});
  const Tensor value = from_values<double>({1.0, 2.0, 3.0, 4.0}, {2, 2}).transpose();
  const Tensor next = step_once(sgd, value, ones({2, 2}, DType::f64));
  BOOST_TEST(allclose(next, from_values<double>({0.0, 2.0, 1.0, 3.0}, {2, 2}), 0.0, 0.0));
}

BOOST_AUTO_TEST_CASE(small_steps_of_16_bit_values_add_up) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Sgd sgd({.lr = 1.0});
    Tensor value = full({600}, 1.0, dtype);
    const Tensor gradient = full({600}, 0x1p-12, dtype);  // below half a unit in the last place of 1 in both dtypes
    for (int i = 0; i < 64; ++i) value = step_once(sgd, value, gradient);
    BOOST_TEST(same_bytes(value, full({600}, 1.0 - 64 * 0x1p-12, dtype)));
    BOOST_TEST(same_bytes(sgd.state(0, "master"), full({600}, 1.0 - 64 * 0x1p-12)));
  }
}

BOOST_AUTO_TEST_CASE(a_16_bit_value_is_its_step_in_f32_rounded) {
  Generator generator(3);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Adam adam({.lr = 0.01, .weight_decay = 0.01});
    Adam in_f32({.lr = 0.01, .weight_decay = 0.01});
    Tensor value = randn({2, 333}, generator).to(dtype);
    Tensor wide = value.to(DType::f32);
    for (int i = 0; i < 5; ++i) {
      const Tensor gradient = randn({2, 333}, generator).to(dtype);
      wide = step_once(in_f32, wide, gradient.to(DType::f32));
      const ParameterUpdate update{0, value, gradient, empty({2, 333}, dtype)};
      if (i % 2 == 0) {
        adam.step(std::span(&update, 1));
      } else {
        adam.prepare(std::span(&update, 1));
        adam.commit();
      }
      value = update.next;
      BOOST_TEST(same_bytes(value, wide.to(dtype)));
      BOOST_TEST(same_bytes(adam.state(0, "master"), wide));
      BOOST_TEST(same_bytes(adam.state(0, "exp_avg_sq"), in_f32.state(0, "exp_avg_sq")));
    }
  }
}

BOOST_AUTO_TEST_CASE(elements_of_16_bits_that_someone_else_wrote_count) {
  Sgd sgd({.lr = 1.0});
  const Tensor gradient = full({2}, 0x1p-12, DType::bf16);
  step_once(sgd, ones({2}, DType::bf16), gradient);
  const Tensor loaded = from_values<float>({1.0F, 4.0F}).to(DType::bf16);  // the first element is unchanged
  step_once(sgd, loaded, gradient);
  BOOST_TEST(same_bytes(sgd.state(0, "master"), from_values<float>({1.0F - 0x1p-11F, 4.0F - 0x1p-12F})));
}

BOOST_AUTO_TEST_CASE(a_step_of_16_bits_rolled_back_leaves_no_trace) {
  Sgd sgd({.lr = 1.0});
  const Tensor value = ones({1}, DType::bf16);
  const ParameterUpdate update{0, value, full({1}, 0.25, DType::bf16), empty({1}, DType::bf16)};
  sgd.prepare(std::span(&update, 1));
  sgd.rollback();
  BOOST_TEST(!sgd.state(0, "master").defined());
  step_once(sgd, value, full({1}, 0.5, DType::bf16));
  sgd.prepare(std::span(&update, 1));
  sgd.rollback();
  BOOST_TEST(sgd.state(0, "master").item() == 0.5);
}

BOOST_AUTO_TEST_CASE(a_parameter_may_not_change_its_dtype_between_steps) {
  Sgd sgd({.lr = 0.1, .momentum = 0.9});
  step_once(sgd, ones({2}), ones({2}));
  const auto step_f64 = [&] { step_once(sgd, f64({1.0, 1.0}), f64({1.0, 1.0})); };
  expect_throw<ShapeError>(step_f64, "[sgd] parameter 0 is not what it was: f64 (2), before f32 (2)");
  const auto step_bf16 = [&] { step_once(sgd, ones({2}, DType::bf16), ones({2}, DType::bf16)); };
  expect_throw<ShapeError>(step_bf16, "[sgd] parameter 0 is not what it was: bf16 (2), before f32 (2)");
  Sgd of_bf16({.lr = 0.1});
  step_once(of_bf16, ones({2}, DType::bf16), ones({2}, DType::bf16));
  const auto step_f32 = [&] { step_once(of_bf16, ones({2}), ones({2})); };
  expect_throw<ShapeError>(step_f32,
                           "[sgd] parameter 0 is not what it was: f32 (2), before f32 (2) with a master copy");
}

BOOST_AUTO_TEST_CASE(a_parameter_whose_first_step_was_rolled_back_may_change) {
  Sgd sgd({.lr = 1.0, .momentum = 0.5});
  const ParameterUpdate update{0, f64({1.0}), f64({1.0}), f64({0.0})};
  sgd.prepare(std::span(&update, 1));
  sgd.rollback();
  expect(step_once(sgd, f64({1.0, 2.0}), f64({1.0, 1.0})), {0.0, 1.0});
}

BOOST_AUTO_TEST_CASE(a_step_while_another_is_prepared_is_refused) {
  Sgd sgd({.lr = 0.1});
  const ParameterUpdate update{0, f64({1.0}), f64({1.0}), f64({0.0})};
  sgd.prepare(std::span(&update, 1));
  expect_throw<std::logic_error>([&] { sgd.step(std::span(&update, 1)); },
                                 "[sgd] the step before was neither committed nor rolled back");
}

BOOST_AUTO_TEST_CASE(a_step_by_rows_is_that_of_a_gradient_which_is_0_elsewhere) {
  const std::vector<optim::RuleOptions> rules{optim::SgdOptions{.lr = 0.1},
                                              optim::SgdOptions{.lr = 0.1, .maximize = true},
                                              optim::AdagradOptions{.lr = 0.1, .lr_decay = 0.5}};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const optim::RuleOptions& options : rules) {
      Generator generator(9);
      const auto dense = optim::make_rule(options);
      const auto by_rows = optim::make_rule(options);
      Tensor value = randn({7, 300}, generator, dtype);
      for (const std::vector<std::int64_t>& rows :
           {std::vector<std::int64_t>{1, 2, 6}, {0}, {}, {0, 1, 2, 3, 4, 5, 6}, {3, 5}}) {
        const auto count = static_cast<std::int64_t>(rows.size());
        const Tensor numbers = from_values<std::int64_t>(rows, {count});
        const Tensor parts = randn({count, 300}, generator, dtype);
        const Tensor gradient = index_select_backward(parts, 0, numbers, {7, 300});
        const ParameterUpdate update{0, value, parts, value.clone(), numbers};
        if (count % 2 == 0) {
          by_rows->step(std::span(&update, 1), {.gradient_scale = 0.5});
        } else {
          by_rows->prepare(std::span(&update, 1), {.gradient_scale = 0.5});
          by_rows->commit();
        }
        value = step_once(*dense, value, gradient, {.gradient_scale = 0.5});
        BOOST_TEST(same_bytes(update.next, value));
        BOOST_TEST(same_bytes(by_rows->state(0, "sum"), dense->state(0, "sum")));
        BOOST_TEST(same_bytes(by_rows->state(0, "master"), dense->state(0, "master")));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_step_by_rows_rolled_back_leaves_no_trace) {
  optim::Adagrad adagrad({.lr = 0.5, .eps = 0.0});
  const Tensor value = from_values<double>({1.0, 2.0, 3.0}, {3, 1});
  const ParameterUpdate update{0, value, from_values<double>({3.0}, {1, 1}), value.clone(),
                               from_values<std::int64_t>({1})};
  adagrad.step(std::span(&update, 1));
  adagrad.prepare(std::span(&update, 1));
  adagrad.rollback();
  BOOST_TEST(same_bytes(adagrad.state(0, "sum"), from_values<double>({0.0, 9.0, 0.0}, {3, 1})));
  BOOST_TEST(same_bytes(value, from_values<double>({1.0, 2.0, 3.0}, {3, 1})));
}

BOOST_AUTO_TEST_CASE(rows_that_make_no_sense_are_refused) {
  Sgd sgd({.lr = 0.1});
  const Tensor value = ones({5, 2});
  const auto refused = [&](Optimizer& rule, const Tensor& parts, const Tensor& rows, const std::string& text) {
    const ParameterUpdate update{0, value, parts, value.clone(), rows};
    expect_throw<TensorError>([&] { rule.step(std::span(&update, 1)); }, text);
    BOOST_TEST(same_bytes(update.next, value));
  };
  const auto numbers = [](std::initializer_list<std::int64_t> rows) { return from_values<std::int64_t>(rows); };
  refused(sgd, ones({3, 2}), numbers({1, 2}),
          "[sgd] the gradient of parameter 0 has another shape: (3, 2), the value (2, 2)");
  refused(sgd, ones({2, 2}, DType::f64), numbers({1, 2}),
          "[sgd] the gradient of parameter 0 has another dtype: f64, the value f32");
  for (const auto& rows : {numbers({2, 1}), numbers({1, 1}), numbers({-1, 1}), numbers({1, 5})}) {
    refused(sgd, ones({2, 2}), rows, "[sgd] rows of parameter 0 are not ascending numbers below 5");
  }
  refused(sgd, ones({2, 2}), ones({2}), "[sgd] rows of parameter 0 are f32 (2), the value (5, 2)");
  Sgd with_momentum({.lr = 0.1, .momentum = 0.9});
  refused(with_momentum, ones({2, 2}), numbers({1, 2}),
          "[sgd] parameter 0 has a gradient of rows, and these options change the others too");
  Adam adam({});
  refused(adam, ones({2, 2}), numbers({1, 2}),
          "[adam] parameter 0 has a gradient of rows, and these options change the others too");
  optim::Adagrad decaying({.weight_decay = 0.1});
  refused(decaying, ones({2, 2}), numbers({1, 2}),
          "[adagrad] parameter 0 has a gradient of rows, and these options change the others too");
}

BOOST_AUTO_TEST_SUITE_END()
