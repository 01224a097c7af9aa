#include "optim/local_optimizer.h"

#include <boost/test/unit_test.hpp>

#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "tensor/io/safetensors.h"
#include "tests/node/temporary_directory.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::AdamOptions;
using optim::LocalOptimizer;
using optim::SgdOptions;

namespace {

Variable leaf(std::initializer_list<double> values) { return {f64(values), RequiresGrad::yes}; }

/// Gradients of 1 for `a` and 2 for `b`, each times its elements.
Gradients gradients_of(const Variable& a, const Variable& b) { return backward(sum(a) + sum(b * 2.0)); }

/// Training that draws its own data: everything that follows depends on model and optimizer alone.
struct Training {
  Generator generator{11};
  nn::Linear first{6, 5, generator};
  nn::Linear second{5, 2, generator};
  LocalOptimizer optimizer{std::vector<optim::ParameterGroup>{
      {.parameters = first.parameters(), .options = optim::AdamWOptions{.lr = 0.01, .amsgrad = true}},
      {.parameters = second.parameters(), .options = SgdOptions{.lr = 0.1, .momentum = 0.9}}}};

  void step(std::uint64_t seed) {
    Generator data(seed);
    const Variable y = second(tanh(first(Variable(randn({8, 6}, data)))));
    optimizer.step(backward(mean(pow(y, 2.0))));
  }
  [[nodiscard]] NamedTensors model() const {
    NamedTensors all = nn::state_dict(first);
    for (const auto& [name, tensor] : nn::state_dict(second)) all.emplace_back("second." + name, tensor);
    return all;
  }
};

/// `state` with the tensor called `name` replaced; undefined takes it away.
NamedTensors with(NamedTensors state, const std::string& name, const Tensor& tensor) {
  std::erase_if(state, [&](const auto& entry) { return entry.first == name; });
  if (tensor.defined()) state.emplace_back(name, tensor);
  return state;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_optimizer)

BOOST_AUTO_TEST_CASE(a_step_replaces_the_values_of_variables) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer(std::vector<Variable>{a, b}, SgdOptions{.lr = 0.5});
  const Tensor before = a.value();
  optimizer.step(gradients_of(a, b));
  expect(a.value(), {0.5, 1.5});
  expect(b.value(), {0.0});
  expect(before, {1.0, 2.0});
}

BOOST_AUTO_TEST_CASE(groups_have_options_of_their_own) {
  const Variable a = leaf({1.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer({{.parameters = std::vector{a}, .options = SgdOptions{.lr = 0.5}},
                            {.parameters = std::vector{b}, .options = AdamOptions{.lr = 0.25, .eps = 0.0}}});
  optimizer.step(gradients_of(a, b));
  expect(a.value(), {0.5});
  expect(b.value(), {0.75});  // a first step of Adam is as long as the rate
  BOOST_TEST(optimizer.group_count() == 2U);
  BOOST_TEST(optimizer.rule(1).steps(0) == 1);
}

BOOST_AUTO_TEST_CASE(step_sizes_can_be_set_for_one_group_or_all) {
  const Variable a = leaf({1.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer({{.parameters = std::vector{a}, .options = SgdOptions{.lr = 0.5}},
                            {.parameters = std::vector{b}, .options = SgdOptions{.lr = 0.5}}});
  optimizer.set_lr(1, 0.125);
  BOOST_TEST(optimizer.lr() == 0.5);
  BOOST_TEST(optimizer.lr(1) == 0.125);
  optimizer.step(gradients_of(a, b));
  expect(a.value(), {0.5});
  expect(b.value(), {0.75});
  optimizer.set_lr(0.25);
  BOOST_TEST(optimizer.lr(0) == 0.25);
  BOOST_TEST(optimizer.lr(1) == 0.25);
  expect_throw<ValueError>([&] { optimizer.set_lr(-1.0); }, "[sgd] lr is not a number >= 0: -1");
  expect_throw<IndexError>([&] { optimizer.set_lr(2, 0.1); }, "[optimizer] no group 2 of 2");
  expect_throw<IndexError>([&] { static_cast<void>(optimizer.rule(2)); }, "[optimizer] no group 2 of 2");
}

BOOST_AUTO_TEST_CASE(parameters_without_gradient_and_gradients_of_others_are_left_alone) {
  const Variable a = leaf({1.0});
  const Variable b = leaf({1.0});
  const Variable other = leaf({1.0});
  LocalOptimizer optimizer(std::vector<Variable>{a, b}, SgdOptions{.lr = 0.5, .momentum = 0.5});
  optimizer.step(gradients_of(b, other));
  expect(a.value(), {1.0});
  expect(b.value(), {0.5});
  expect(other.value(), {1.0});
  BOOST_TEST(optimizer.rule().steps(0) == 0);
  BOOST_TEST(optimizer.rule().steps(1) == 1);
}

BOOST_AUTO_TEST_CASE(two_buffers_for_each_parameter_are_enough) {
  const Variable a = leaf({1.0});
  LocalOptimizer optimizer(std::vector<Variable>{a}, SgdOptions{.lr = 0.5});
  const auto step = [&] {
    const Gradients gradients = backward(sum(a));
    optimizer.step(gradients);
    return static_cast<const void*>(a.value().bytes());
  };
  step();
  const void* const first = step();
  const void* const second = step();
  BOOST_TEST(first != second);
  BOOST_TEST(step() == first);
  BOOST_TEST(step() == second);
  const Tensor held = a.value();  // as a graph would
  step();
  BOOST_TEST(step() != second);
  expect(held, {1.0 - 5 * 0.5});
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_given_up_makes_room_for_the_next_value) {
  const Variable a = leaf({1.0, 2.0});
  LocalOptimizer optimizer(std::vector<Variable>{a}, SgdOptions{.lr = 0.5, .momentum = 0.5});
  Gradients gradients = backward(sum(a * 2.0));
  const void* const memory = gradients.of(a).bytes();
  const Tensor held = a.value();
  optimizer.step(std::move(gradients));
  BOOST_TEST(static_cast<const void*>(a.value().bytes()) == memory);
  expect(a.value(), {0.0, 1.0});  // 1 - 0.5 * 2, 2 - 0.5 * 2
  expect(held, {1.0, 2.0});
  optimizer.step(backward(sum(a * 2.0)));
  expect(a.value(), {-1.5, -0.5});  // 0 - 0.5 * (0.5 * 2 + 2), 1 - 1.5
}

BOOST_AUTO_TEST_CASE(a_gradient_that_somebody_else_holds_stays_as_it_is) {
  const Variable a = leaf({1.0});
  LocalOptimizer optimizer(std::vector<Variable>{a}, SgdOptions{.lr = 0.5});
  Gradients gradients = backward(sum(a * 3.0));
  const Tensor held = gradients.of(a);
  optimizer.step(std::move(gradients));
  expect(held, {3.0});
  expect(a.value(), {-0.5});
  Gradients kept = backward(sum(a * 3.0));
  optimizer.step(kept);  // not given up
  expect(kept.of(a), {3.0});
}

BOOST_AUTO_TEST_CASE(given_up_or_not_the_bits_are_the_same) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    Generator generator(5);
    const Tensor initial = randn({700}, generator, dtype);
    const Variable a(initial.clone(), RequiresGrad::yes);
    const Variable b(initial.clone(), RequiresGrad::yes);
    LocalOptimizer of_a(std::vector<Variable>{a}, AdamOptions{.lr = 0.1});
    LocalOptimizer of_b(std::vector<Variable>{b}, AdamOptions{.lr = 0.1});
    for (int i = 0; i < 5; ++i) {
      const Gradients gradients = backward(sum(pow(a, 2.0)));
      of_a.step(gradients);
      of_b.step(backward(sum(pow(b, 2.0))));
    }
    BOOST_TEST(same_bytes(a.value(), b.value()));
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_does_not_fit_changes_nothing) {
  const Variable a = leaf({1.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer({{.parameters = std::vector{a}, .options = SgdOptions{.lr = 0.5}},
                            {.parameters = std::vector{b}, .options = SgdOptions{.lr = 0.5}}});
  Gradients gradients;
  gradients.add(a, f64({1.0}));
  gradients.add(b, f64({1.0, 2.0}));
  expect_throw<ShapeError>([&] { optimizer.step(gradients); },
                           "[sgd] the gradient of parameter 0 has another shape: (2), the value (1)");
  expect(a.value(), {1.0});
  BOOST_TEST(optimizer.rule().steps(0) == 0);
}

BOOST_AUTO_TEST_CASE(parameters_that_make_no_sense_are_refused) {
  const Variable a = leaf({1.0});
  const auto make = [](std::vector<Variable> first, std::vector<Variable> second) {
    return [=] {
      LocalOptimizer({{.parameters = first, .options = SgdOptions{}}, {.parameters = second, .options = SgdOptions{}}});
    };
  };
  expect_throw<ValueError>(make({a}, {}), "[optimizer] group 1 has no parameters");
  expect_throw<ValueError>(make({a}, {leaf({1.0}), a}), "[optimizer] parameter 1 of group 1 is given twice");
  expect_throw<TensorError>(make({a * 2.0}, {a}), "[optimizer] parameter 0 of group 0 is not a leaf");
  expect_throw<TensorError>(make({Variable()}, {a}), "[optimizer] parameter 0 of group 0 is not a leaf");
  expect_throw<ValueError>([&] { LocalOptimizer(std::vector{a}, SgdOptions{.lr = -1.0}); },
                           "[sgd] lr is not a number >= 0: -1");
}

BOOST_AUTO_TEST_CASE(training_that_goes_on_from_files_gives_the_same_bits) {
  const TemporaryDirectory folder;
  Training straight;
  for (std::uint64_t i = 0; i < 3; ++i) straight.step(i);
  straight.optimizer.set_lr(0, 0.02);
  write_safetensors(folder.path() / "optimizer.safetensors", straight.optimizer.state());
  write_safetensors(folder.path() / "first.safetensors", nn::state_dict(straight.first));
  write_safetensors(folder.path() / "second.safetensors", nn::state_dict(straight.second));

  Training resumed;
  nn::load_state_dict(resumed.first, read_safetensors(folder.path() / "first.safetensors").tensors);
  nn::load_state_dict(resumed.second, read_safetensors(folder.path() / "second.safetensors").tensors);
  resumed.optimizer.load_state(read_safetensors(folder.path() / "optimizer.safetensors").tensors);
  for (std::uint64_t i = 3; i < 6; ++i) {
    straight.step(i);
    resumed.step(i);
  }
  const NamedTensors expected = straight.model();
  const NamedTensors actual = resumed.model();
  BOOST_REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(same_bytes(actual[i].second, expected[i].second));
  BOOST_TEST(resumed.optimizer.lr() == 0.02);
  BOOST_TEST(resumed.optimizer.rule().steps(0) == 6);
}

BOOST_AUTO_TEST_CASE(a_state_that_was_saved_does_not_change_with_later_steps) {
  Training training;
  training.step(0);
  const NamedTensors saved = training.optimizer.state();
  NamedTensors copies;
  for (const auto& [name, tensor] : saved) copies.emplace_back(name, tensor.clone());
  training.step(1);
  training.step(2);
  for (std::size_t i = 0; i < saved.size(); ++i) BOOST_TEST(same_bytes(saved[i].second, copies[i].second));
}

BOOST_AUTO_TEST_CASE(a_loaded_state_is_a_copy) {
  const Variable a = leaf({1.0});
  LocalOptimizer optimizer(std::vector{a}, SgdOptions{.lr = 1.0, .momentum = 0.5});
  optimizer.step(backward(sum(a)));
  NamedTensors saved;
  for (const auto& [name, tensor] : optimizer.state()) saved.emplace_back(name, tensor.clone());
  optimizer.load_state(saved);
  for (auto& [name, tensor] : saved) tensor.fill(100.0);
  expect(optimizer.rule().state(0, "momentum_buffer"), {1.0});
}

BOOST_AUTO_TEST_CASE(states_have_the_names_of_groups_options_and_parameters) {
  const Variable a = leaf({1.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer(
      {{.parameters = std::vector{b}, .options = optim::AdagradOptions{.lr = 0.5}},
       {.parameters = std::vector{leaf({0.0}), a}, .options = SgdOptions{.lr = 0.25, .momentum = 0.5}}});
  optimizer.step(backward(sum(a * 3.0)));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : optimizer.state()) names.push_back(name);
  const std::vector<std::string> expected{"groups.0.adagrad.lr",
                                          "groups.0.adagrad.lr_decay",
                                          "groups.0.adagrad.weight_decay",
                                          "groups.0.adagrad.initial_accumulator_value",
                                          "groups.0.adagrad.eps",
                                          "groups.0.adagrad.maximize",
                                          "groups.1.sgd.lr",
                                          "groups.1.sgd.momentum",
                                          "groups.1.sgd.dampening",
                                          "groups.1.sgd.weight_decay",
                                          "groups.1.sgd.nesterov",
                                          "groups.1.sgd.maximize",
                                          "groups.1.parameters.1.step",
                                          "groups.1.parameters.1.momentum_buffer"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  BOOST_TEST(optimizer.state()[6].second.item() == 0.25);
  BOOST_TEST(optimizer.state()[12].second.item<std::int64_t>() == 1);
  expect(optimizer.state()[13].second, {3.0});
}

BOOST_AUTO_TEST_CASE(a_state_that_does_not_fit_is_refused_and_changes_nothing) {
  Training training;
  training.step(0);
  const NamedTensors good = training.optimizer.state();
  const auto refused = [&](const NamedTensors& state, const std::string& text) {
    Training other;
    other.step(1);
    const Tensor before = other.optimizer.rule(0).state(0, "exp_avg");
    expect_throw<ValueError>([&] { other.optimizer.load_state(state); }, "[load_state] " + text);
    BOOST_TEST(same_bytes(other.optimizer.rule(0).state(0, "exp_avg"), before));
    BOOST_TEST(other.optimizer.lr(0) == 0.01);
  };
  refused(with(good, "groups.2.sgd.lr", ones({})), "unexpected: groups.2.sgd.lr");
  refused(with(good, "groups.1.sgd.momentum", full({}, 0.5, DType::f64)), "groups.1.sgd.momentum is 0.5, not 0.9");
  refused(with(good, "groups.1.sgd.momentum", Tensor()), "missing: groups.1.sgd.momentum");
  refused(with(good, "groups.1.sgd.lr", full({}, 0.5)), "groups.1.sgd.lr is f32 (), not f64 ()");
  refused(with(good, "groups.1.adam.lr", full({}, 0.5, DType::f64)), "unexpected: groups.1.adam.lr");
  refused(with(good, "groups.0.parameters.1.exp_avg", ones({4})),
          "groups.0.parameters.1.exp_avg is f32 (4), not f32 (5)");
  refused(with(good, "groups.0.parameters.1.exp_avg", f64({1, 2, 3, 4, 5})),
          "groups.0.parameters.1.exp_avg is f64 (5), not f32 (5)");
  refused(with(good, "groups.0.parameters.1.exp_avg", Tensor()), "missing: groups.0.parameters.1.exp_avg");
  refused(with(good, "groups.0.parameters.1.master", ones({5})), "unexpected: groups.0.parameters.1.master");
  refused(with(good, "groups.0.parameters.1.step", Tensor()),
          "unexpected: groups.0.parameters.1.exp_avg, groups.0.parameters.1.exp_avg_sq, "
          "groups.0.parameters.1.max_exp_avg_sq");
  refused(with(good, "groups.0.parameters.1.step", full({}, 0.0, DType::i64)),
          "groups.0.parameters.1.step is 0, not above 0");
  refused(with(good, "groups.0.parameters.1.step", ones({})), "groups.0.parameters.1.step is f32 (), not i64 ()");
  for (const char* name : {"2.step", "01.step", "-1.step", "99999999999999999999.step", "x.step", "1", ""}) {
    refused(with(good, std::string("groups.0.parameters.") + name, full({}, 1.0, DType::i64)),
            std::string("unexpected: groups.0.parameters.") + name);
  }
  NamedTensors twice = good;
  twice.push_back(good.front());
  refused(twice, "given twice: groups.0.adamw.lr");
  NamedTensors undefined = with(good, "groups.0.adamw.lr", Tensor());
  undefined.emplace_back("groups.0.adamw.lr", Tensor());
  refused(undefined, "missing: groups.0.adamw.lr; groups.0.adamw.lr is undefined");
  Training other;
  expect_throw<ValueError>(
      [&] { other.optimizer.load_state(with(good, "groups.1.sgd.lr", full({}, -1.0, DType::f64))); },
      "[sgd] lr is not a number >= 0: -1");
  BOOST_TEST(other.optimizer.rule(0).steps(0) == 0);
}

BOOST_AUTO_TEST_CASE(master_copies_are_saved_with_the_state) {
  const Variable a(ones({2}, DType::bf16), RequiresGrad::yes);
  const auto gradients = [](const Variable& x) {
    Gradients found;
    found.add(x, full({2}, 0x1p-12, DType::bf16));
    return found;
  };
  LocalOptimizer optimizer(std::vector{a}, SgdOptions{.lr = 1.0});
  optimizer.step(gradients(a));
  const Variable b(ones({2}, DType::bf16), RequiresGrad::yes);
  LocalOptimizer resumed(std::vector{b}, SgdOptions{.lr = 1.0});
  resumed.load_state(optimizer.state());
  resumed.step(gradients(b));
  BOOST_TEST(same_bytes(resumed.rule().state(0, "master"), full({2}, 1.0 - 0x1p-11)));
  LocalOptimizer without(std::vector{Variable(ones({2}, DType::bf16), RequiresGrad::yes)}, SgdOptions{.lr = 1.0});
  expect_throw<ValueError>(
      [&] { without.load_state(with(optimizer.state(), "groups.0.parameters.0.master", Tensor())); },
      "[load_state] missing: groups.0.parameters.0.master");
}

BOOST_AUTO_TEST_SUITE_END()
