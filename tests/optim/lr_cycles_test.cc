#include "optim/lr_cycles.h"

#include <boost/test/unit_test.hpp>

#include <vector>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "optim/local_optimizer.h"
#include "optim/lr_scheduler.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/expect_throw.h"

using namespace troupe;
using namespace troupe::testing;
using optim::LrSchedule;

BOOST_AUTO_TEST_SUITE(lr_cycles)

namespace {

// All numbers of these tests are exact except for a few roundings.
void expect_numbers(const LrSchedule& schedule, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    BOOST_TEST(schedule(123.0, static_cast<std::int64_t>(step)) == expected[step], boost::test_tools::tolerance(1e-12));
  }
}

optim::LocalOptimizer sgd(double momentum) {
  return {std::vector<Variable>{Variable(ones({1}), RequiresGrad::yes)},
          optim::SgdOptions{.lr = 1.0, .momentum = momentum}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_cycle_rises_and_falls_below_where_it_began) {
  // 9 steps: up from 0.25 in 2 (a third of them, less one), down to 0.25 / 10 in 6; the momentum moves the other way.
  const optim::OneCycle cycle({.max_lr = 1.0,
                               .total_steps = 9,
                               .pct_start = 1.0 / 3.0,
                               .anneal = optim::Anneal::linear,
                               .div_factor = 4.0,
                               .final_div_factor = 10.0,
                               .base_momentum = 0.5,
                               .max_momentum = 0.9});
  expect_numbers(cycle.lr(), {0.25, 0.625, 1.0, 0.8375, 0.675, 0.5125, 0.35, 0.1875, 0.025, 0.025, 0.025});
  expect_numbers(cycle.momentum(),
                 {0.9, 0.7, 0.5, 0.5 + 0.4 / 6, 0.5 + 0.8 / 6, 0.7, 0.5 + 1.6 / 6, 0.5 + 2.0 / 6, 0.9, 0.9});
}

BOOST_AUTO_TEST_CASE(one_cycle_may_have_three_phases_and_follow_a_cosine) {
  // 9 steps: up in 2, down in 2, below the start in 4. Half of the cosine's steps give half of the difference.
  const optim::OneCycle cycle({.max_lr = 1.0,
                               .total_steps = 9,
                               .pct_start = 1.0 / 3.0,
                               .div_factor = 4.0,
                               .final_div_factor = 10.0,
                               .three_phase = true,
                               .base_momentum = 0.5,
                               .max_momentum = 0.9});
  const LrSchedule lr = cycle.lr();
  expect_numbers(lr, {0.25, 0.625, 1.0, 0.625, 0.25});
  BOOST_TEST(lr(1.0, 6) == (0.25 + 0.025) / 2.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(lr(1.0, 8) == 0.025, boost::test_tools::tolerance(1e-12));
  expect_numbers(cycle.momentum(), {0.9, 0.7, 0.5, 0.7, 0.9, 0.9, 0.9, 0.9, 0.9});
}

BOOST_AUTO_TEST_CASE(cyclic_rises_and_falls_again_and_again) {
  optim::CyclicOptions options{
      .base_lr = 1.0, .max_lr = 3.0, .step_size_up = 2, .step_size_down = 4, .base_momentum = 0.5, .max_momentum = 0.9};
  expect_numbers(optim::Cyclic(options).lr(), {1.0, 2.0, 3.0, 2.5, 2.0, 1.5, 1.0, 2.0, 3.0});
  expect_numbers(optim::Cyclic(options).momentum(), {0.9, 0.7, 0.5, 0.6, 0.7, 0.8, 0.9, 0.7, 0.5});
  options.mode = optim::CyclicMode::triangular2;
  expect_numbers(optim::Cyclic(options).lr(), {1.0, 2.0, 3.0, 2.5, 2.0, 1.5, 1.0, 1.5, 2.0});
  options.mode = optim::CyclicMode::exp_range;
  options.gamma = 0.5;
  expect_numbers(optim::Cyclic(options).lr(), {1.0, 1.5, 1.5, 1.1875});  // 1 * 0.5, 2 * 0.25, 1.5 * 0.125
}

BOOST_AUTO_TEST_CASE(a_scheduler_sets_the_momentum_too) {
  optim::LocalOptimizer optimizer = sgd(0.8);
  const optim::OneCycle cycle(
      {.max_lr = 1.0, .total_steps = 9, .pct_start = 1.0 / 3.0, .base_momentum = 0.5, .max_momentum = 0.9});
  optim::LrScheduler scheduler(optimizer, cycle.lr(), cycle.momentum());
  BOOST_TEST(optimizer.momentum() == 0.9);
  scheduler.step();
  scheduler.step();
  BOOST_TEST(optimizer.momentum() == 0.5);
  // A resumed training has the momentum of its step, and the optimizer's original options.
  optim::LocalOptimizer resumed = sgd(0.8);
  resumed.load_state_dict(optimizer.state_dict());
  optim::LrScheduler again(resumed, cycle.lr(), cycle.momentum());
  again.load_state_dict(scheduler.state_dict());
  BOOST_TEST(resumed.momentum() == 0.5);
  BOOST_TEST(resumed.lr() == optimizer.lr());
}

BOOST_AUTO_TEST_CASE(rules_take_the_momentum_that_they_have) {
  const std::vector<Variable> parameters{Variable(ones({1}), RequiresGrad::yes)};
  optim::LocalOptimizer adam(parameters, optim::AdamOptions{});
  BOOST_TEST(adam.momentum() == 0.9);
  adam.set_momentum(0, 0.5);
  BOOST_TEST(adam.momentum() == 0.5);
  expect_throw<ValueError>([&] { adam.set_momentum(0, 1.0); }, "[adam] beta1 is not a number in [0, 1): 1");
  BOOST_TEST(adam.momentum() == 0.5);
  optim::LocalOptimizer plain = sgd(0.0);
  expect_throw<ValueError>([&] { plain.set_momentum(0, 0.5); }, "[sgd] momentum 0.5 for a rule that was made without");
  optim::LocalOptimizer heavy = sgd(0.5);
  expect_throw<ValueError>([&] { heavy.set_momentum(0, 0.0); }, "[sgd] momentum 0 for a rule that was made with");
  expect_throw<ValueError>([&] { heavy.set_momentum(0, -1.0); }, "[sgd] momentum is not a number >= 0: -1");
  optim::LocalOptimizer adagrad(parameters, optim::AdagradOptions{});
  BOOST_TEST(adagrad.momentum() == 0.0);
  expect_throw<ValueError>([&] { adagrad.set_momentum(0, 0.5); }, "[adagrad] has no momentum");
  expect_throw<IndexError>([&] { adagrad.set_momentum(1, 0.5); }, "[optimizer] no group 1 of 1");
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto one = [](const optim::OneCycleOptions& options, const char* text) {
    expect_throw<ValueError>([&] { (void)optim::OneCycle(options); }, text);
  };
  one({.max_lr = -1.0}, "[one_cycle] max_lr is not a number >= 0: -1");
  one({.total_steps = 1}, "[one_cycle] total_steps is not above 1: 1");
  one({.pct_start = 2.0}, "[one_cycle] pct_start is not a number in [0, 1]: 2");
  one({.div_factor = 0.0}, "[one_cycle] div_factor is not above 0: 0");
  one({.final_div_factor = -1.0}, "[one_cycle] final_div_factor is not above 0: -1");
  one({.base_momentum = -1.0}, "[one_cycle] base_momentum is not a number >= 0: -1");
  const auto cyclic = [](const optim::CyclicOptions& options, const char* text) {
    expect_throw<ValueError>([&] { (void)optim::Cyclic(options); }, text);
  };
  cyclic({.base_lr = -1.0}, "[cyclic] base_lr is not a number >= 0: -1");
  cyclic({.step_size_up = 0}, "[cyclic] step_size_up is not above 0: 0");
  cyclic({.step_size_down = 0}, "[cyclic] step_size_down is not above 0: 0");
  cyclic({.gamma = -1.0}, "[cyclic] gamma is not a number >= 0: -1");
  cyclic({.max_momentum = -1.0}, "[cyclic] max_momentum is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
