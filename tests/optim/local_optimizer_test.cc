#include "optim/local_optimizer.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "optim/lr_cycles.h"
#include "optim/lr_scheduler.h"
#include "tensor/io/safetensors.h"
#include "tests/optim/parameter.h"
#include "tests/support/counting_new.h"
#include "tests/support/gpu.h"
#include "tests/support/temporary_directory.h"

using namespace troupe;
using namespace troupe::testing;
using optim::AdamOptions;
using optim::LocalOptimizer;
using optim::SgdOptions;

BOOST_AUTO_TEST_SUITE(local_optimizer)

namespace {

Variable leaf(std::initializer_list<double> values) { return {f64(values), RequiresGrad::yes}; }

/// Returns a gradient of 1 per element of `a` and 2 per element of `b`.
Gradients gradients_of(const Variable& a, const Variable& b) { return backward(sum(a) + sum(b * 2.0)); }

/// Returns a gradient of 1 for these rows of `table`.
Gradients rows_of(const Variable& table, std::initializer_list<std::int64_t> rows) {
  return backward(sum(embedding(table, from_values<std::int64_t>(rows), {.sparse = true})));
}

/// Training that draws its own data: later steps depend on model and optimizer only.
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

/// Returns `state` with the tensor `name` replaced, or removed if `tensor` is undefined.
NamedTensors with(NamedTensors state, const std::string& name, const Tensor& tensor) {
  std::erase_if(state, [&](const auto& entry) { return entry.first == name; });
  if (tensor.defined()) state.emplace_back(name, tensor);
  return state;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_replaces_the_values_of_variables) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b = leaf({1.0});
  LocalOptimizer optimizer({a, b}, SgdOptions{.lr = 0.5});
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
  expect(b.value(), {0.75});  // the first step of Adam has the length lr
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
  const Tensor held = a.value();  // as a graph would hold it
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
  optimizer.step(kept);  // still usable
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

BOOST_AUTO_TEST_CASE(rows_of_a_table_are_stepped_once_by_the_sum_of_their_gradients) {
  const auto stepped = [](const optim::RuleOptions& options, const optim::StepOptions& step = {}) {
    const Variable table(from_values<double>({1.0, 2.0, 3.0, 4.0}, {4, 1}), RequiresGrad::yes);
    LocalOptimizer optimizer(std::vector<Variable>{table}, options);
    for (int i = 0; i < 2; ++i) optimizer.step(rows_of(table, {3, 1, 3}), step);
    return table.value().reshape({4});
  };
  expect(stepped(SgdOptions{.lr = 0.5}), {1.0, 1.0, 3.0, 2.0});  // 2 - 2 * 0.5, 4 - 2 * 0.5 * 2
  expect(stepped(SgdOptions{.lr = 0.5, .maximize = true}), {1.0, 3.0, 3.0, 6.0});
  expect(stepped(SgdOptions{.lr = 0.5}, {.gradient_scale = 0.5}), {1.0, 1.5, 3.0, 3.0});
  expect(stepped(SgdOptions{.lr = 0.5}, {.gradient_limit = 1.5}), {1.0, 1.0, 3.0, 2.5});  // 4 - 2 * 0.5 * 1.5
  // The sums of squares are 1 and 4, then 2 and 8: 2 - 1 - 1 / sqrt(2), and 4 - 2 / 2 - 2 / sqrt(8)
  const double half_root = 1.0 / std::sqrt(2.0);
  expect(stepped(optim::AdagradOptions{.lr = 1.0, .eps = 0.0}), {1.0, 1.0 - half_root, 3.0, 3.0 - half_root});
  // Rules that also move elements with a gradient of 0 get the dense tensor. Directions are 1 and 2, then 1.5 and 3.
  expect(stepped(SgdOptions{.lr = 1.0, .momentum = 0.5}), {1.0, -0.5, 3.0, -1.0});
  expect(stepped(SgdOptions{.lr = 0.5, .weight_decay = 1.0}), {0.25, -0.25, 0.75, -0.5});  // p - 0.5 * (g + p)
}

BOOST_AUTO_TEST_CASE(rows_or_tensors_the_bits_are_the_same) {
  const std::vector<optim::RuleOptions> rules{SgdOptions{.lr = 0.1}, SgdOptions{.lr = 0.1, .momentum = 0.9},
                                              optim::AdagradOptions{.lr = 0.1, .lr_decay = 0.5},
                                              AdamOptions{.lr = 0.1}};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const optim::RuleOptions& options : rules) {
      Generator generator(6);
      const Variable a(randn({9, 5}, generator, dtype), RequiresGrad::yes);
      const Variable b(a.value().clone(), RequiresGrad::yes);
      const Variable factor(randn({6, 5}, generator, dtype));
      LocalOptimizer by_rows(std::vector<Variable>{a}, options);
      LocalOptimizer by_tensors(std::vector<Variable>{b}, options);
      Tensor held;
      for (int i = 0; i < 12; ++i) {
        const Tensor index = randint(0, 9, {6}, generator);
        Gradients gradients = backward(sum(embedding(a, index, {.sparse = true}) * factor));
        BOOST_TEST(gradients.sparse_of(a).defined());
        if (i == 3) held = a.value();  // as a graph would hold it
        if (i % 2 == 0) {
          by_rows.step(gradients);
        } else {
          by_rows.step(std::move(gradients));
        }
        by_tensors.step(backward(sum(embedding(b, index) * factor)));
        BOOST_TEST(same_bytes(a.value(), b.value()));
        if (i == 5) held = {};
        if (i == 6) {
          for (const Variable& x : {a, b}) x.set_value(mul(x.value(), 0.5));
        }
        if (i == 8) {
          for (const Variable& x : {a, b}) x.value().fill(0.25);
        }
        if (i == 10) {
          Gradients whole_a;
          Gradients whole_b;
          whole_a.add(a, b.value());
          whole_b.add(b, b.value());
          by_rows.step(std::move(whole_a));
          by_tensors.step(whole_b);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_step_by_rows_leaves_other_rows_alone_in_both_buffers) {
  for (const optim::RuleOptions& options :
       {optim::RuleOptions(SgdOptions{.lr = 0.5}), optim::RuleOptions(optim::AdagradOptions{.lr = 0.5})}) {
    const Variable table(zeros({4, 1}, DType::f64), RequiresGrad::yes);
    LocalOptimizer optimizer(std::vector<Variable>{table}, options);
    auto* const memory = reinterpret_cast<double*>(const_cast<std::byte*>(table.value().bytes()));
    optimizer.step(rows_of(table, {3, 1}));
    memory[0] = 7.0;  // beyond the tensor, which is now the second buffer
    optimizer.step(rows_of(table, {2}));
    BOOST_TEST(table.value().bytes() == reinterpret_cast<std::byte*>(memory));
    BOOST_TEST(table.value().select(0, 0).item() == 7.0);
    BOOST_TEST(table.value().select(0, 1).item() == table.value().select(0, 2).item());
    BOOST_TEST(table.value().select(0, 3).item() == table.value().select(0, 2).item());
  }
}

BOOST_AUTO_TEST_CASE(steps_by_rows_are_the_same_on_a_gpu, *boost::unit_test::precondition(NeedsGpus{1})) {
  const Tensor begin = arange(0.0, 8.0, 1.0).view({4, 2});
  const Variable here(begin, RequiresGrad::yes);
  const Variable there(begin.to(Device::cuda()), RequiresGrad::yes);
  LocalOptimizer on_cpu(std::vector<Variable>{here}, SgdOptions{.lr = 0.5});
  LocalOptimizer on_gpu(std::vector<Variable>{there}, SgdOptions{.lr = 0.5});
  for (const std::int64_t row : {1, 3, 1, 0}) {
    const Tensor index = from_values<std::int64_t>({row, 2});
    on_cpu.step(backward(sum(embedding(here, index, {.sparse = true}))));
    on_gpu.step(backward(sum(embedding(there, index.to(Device::cuda()), {.sparse = true}))));
    BOOST_TEST(same_bytes(there.value().to(Device::cpu()), here.value()));
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_given_up_ends_the_second_buffer_of_rows) {
  const Variable table(ones({4, 1}, DType::f64), RequiresGrad::yes);
  LocalOptimizer optimizer(std::vector<Variable>{table}, SgdOptions{.lr = 0.5});
  optimizer.step(rows_of(table, {1}));
  const Tensor before = table.value();
  Gradients gradients;
  gradients.add(table, ones({4, 1}, DType::f64));
  optimizer.step(std::move(gradients));
  BOOST_TEST(before.storage().handle_count() == 1);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_fit_are_refused_as_a_tensor_is) {
  const Variable table(ones({4, 1}, DType::f64), RequiresGrad::yes);
  const Variable other(ones({4}, DType::f64), RequiresGrad::yes);
  LocalOptimizer optimizer(std::vector<Variable>{table, other}, SgdOptions{.lr = 0.5});
  Gradients longer;
  longer.add(table, SparseTensor(from_values<std::int64_t>({1}, {1, 1}), ones({1, 1}, DType::f64), {5, 1}));
  expect_throw<ShapeError>([&] { optimizer.step(longer); },
                           "[sgd] the gradient of parameter 0 has another shape: (5, 1), the value (4, 1)");
  Gradients elements;
  elements.add(table, SparseTensor(from_values<std::int64_t>({1, 0}, {2, 1}), f64({4.0}), {4, 1}));
  elements.add(other, SparseTensor(from_values<std::int64_t>({3}, {1, 1}), f64({4.0}), {4}));
  optimizer.step(elements);
  expect(table.value().reshape({4}), {1.0, -1.0, 1.0, 1.0});
  expect(other.value(), {1.0, 1.0, 1.0, -1.0});
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

BOOST_AUTO_TEST_CASE(step_that_gets_no_memory_changes_no_group_and_can_be_repeated) {
  const Tensor start = f64({1.0, 2.0, 3.0, 4.0}).view({4, 1});
  /// Returns the values after two steps, of which allocation `n` of the first is refused and the step repeated.
  const auto trained = [&](std::size_t n, bool& is_refused) {
    const Variable first(start.clone(), RequiresGrad::yes);
    const Variable table(start.clone(), RequiresGrad::yes);
    const Variable last(start.clone(), RequiresGrad::yes);
    LocalOptimizer optimizer({{.parameters = std::vector{first}, .options = SgdOptions{.lr = 0.5, .momentum = 0.5}},
                              {.parameters = std::vector{table}, .options = SgdOptions{.lr = 0.5}},
                              {.parameters = std::vector{last}, .options = AdamOptions{.lr = 0.5}}});
    for (int step = 0; step < 2; ++step) {
      const auto gradients = [&] {
        Gradients found = rows_of(table, {2, 0});
        found.add(first, start.clone());
        found.add(last, start.clone());
        return found;
      };
      Gradients given_up = gradients();
      bool has_thrown = false;
      if (step == 0) {
        const RefusedAllocation refused(n);
        try {
          optimizer.step(std::move(given_up));
        } catch (const std::bad_alloc&) {
          has_thrown = true;
        }
        is_refused = refused.happened();
      }
      if (has_thrown) {
        for (const Variable& parameter : {first, table, last}) BOOST_TEST(same_bytes(parameter.value(), start));
        for (std::size_t group = 0; group < 3; ++group) BOOST_TEST(optimizer.rule(group).steps(0) == 0);
      }
      if (step > 0 || has_thrown) optimizer.step(gradients());
    }
    return std::vector{first.value(), table.value(), last.value()};
  };
  bool is_refused = true;
  const std::vector<Tensor> undisturbed = trained(1U << 20U, is_refused);
  is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    const std::vector<Tensor> values = trained(n, is_refused);
    for (std::size_t i = 0; i < values.size(); ++i) BOOST_TEST(same_bytes(values[i], undisturbed[i]));
    BOOST_TEST((is_refused || n > 20));
  }
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
  write_safetensors(folder.path() / "optimizer.safetensors", straight.optimizer.state_dict());
  write_safetensors(folder.path() / "first.safetensors", nn::state_dict(straight.first));
  write_safetensors(folder.path() / "second.safetensors", nn::state_dict(straight.second));

  Training resumed;
  nn::load_state_dict(resumed.first, read_safetensors(folder.path() / "first.safetensors").tensors);
  nn::load_state_dict(resumed.second, read_safetensors(folder.path() / "second.safetensors").tensors);
  resumed.optimizer.load_state_dict(read_safetensors(folder.path() / "optimizer.safetensors").tensors);
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

BOOST_AUTO_TEST_CASE(a_state_that_is_loaded_after_that_of_its_scheduler_leaves_the_momentum_to_it) {
  const optim::OneCycle cycle({.max_lr = 0.1, .total_steps = 20});
  const auto step = [](LocalOptimizer& optimizer, const Variable& a) { optimizer.step(backward(sum(pow(a, 2.0)))); };
  const Variable a = leaf({1.0, -2.0});
  LocalOptimizer straight(std::vector{a}, AdamOptions{});
  optim::LrScheduler schedule(straight, cycle.lr(), cycle.momentum());
  for (int i = 0; i < 5; ++i) {
    step(straight, a);
    schedule.step();
  }
  const Variable b(a.value().clone(), RequiresGrad::yes);
  LocalOptimizer resumed(std::vector{b}, AdamOptions{});
  optim::LrScheduler again(resumed, cycle.lr(), cycle.momentum());
  again.load_state_dict(schedule.state_dict());
  resumed.load_state_dict(straight.state_dict());
  BOOST_TEST(resumed.momentum() == straight.momentum());
  step(straight, a);
  step(resumed, b);
  BOOST_TEST(same_bytes(b.value(), a.value()));
}

BOOST_AUTO_TEST_CASE(a_state_that_was_saved_does_not_change_with_later_steps) {
  Training training;
  training.step(0);
  const NamedTensors saved = training.optimizer.state_dict();
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
  for (const auto& [name, tensor] : optimizer.state_dict()) saved.emplace_back(name, tensor.clone());
  optimizer.load_state_dict(saved);
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
  for (const auto& [name, tensor] : optimizer.state_dict()) names.push_back(name);
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
  BOOST_TEST(optimizer.state_dict()[6].second.item() == 0.25);
  BOOST_TEST(optimizer.state_dict()[12].second.item<std::int64_t>() == 1);
  expect(optimizer.state_dict()[13].second, {3.0});
}

BOOST_AUTO_TEST_CASE(a_state_that_does_not_fit_is_refused_and_changes_nothing) {
  Training training;
  training.step(0);
  const NamedTensors good = training.optimizer.state_dict();
  const auto refused = [&](const NamedTensors& state, const std::string& text) {
    Training other;
    other.step(1);
    const Tensor before = other.optimizer.rule(0).state(0, "exp_avg");
    expect_throw<ValueError>([&] { other.optimizer.load_state_dict(state); }, "[load_state_dict] " + text);
    BOOST_TEST(same_bytes(other.optimizer.rule(0).state(0, "exp_avg"), before));
    BOOST_TEST(other.optimizer.lr(0) == 0.01);
  };
  refused(with(good, "groups.2.sgd.lr", ones({})), "unexpected: groups.2.sgd.lr");
  refused(with(good, "groups.0", ones({})), "unexpected: groups.0");
  refused(with(good, "lr", ones({})), "unexpected: lr");
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
      [&] { other.optimizer.load_state_dict(with(good, "groups.1.sgd.lr", full({}, -1.0, DType::f64))); },
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
  resumed.load_state_dict(optimizer.state_dict());
  resumed.step(gradients(b));
  BOOST_TEST(same_bytes(resumed.rule().state(0, "master"), full({2}, 1.0 - 0x1p-11)));
  LocalOptimizer without(std::vector{Variable(ones({2}, DType::bf16), RequiresGrad::yes)}, SgdOptions{.lr = 1.0});
  expect_throw<ValueError>(
      [&] { without.load_state_dict(with(optimizer.state_dict(), "groups.0.parameters.0.master", Tensor())); },
      "[load_state_dict] missing: groups.0.parameters.0.master");
}

BOOST_AUTO_TEST_SUITE_END()
