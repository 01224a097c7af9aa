#include "optim/lr_scheduler.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "optim/local_optimizer.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::LocalOptimizer;
using optim::LrScheduler;
using optim::SgdOptions;

namespace {

Variable leaf() { return {f64({1.0}), RequiresGrad::yes}; }

/// Two groups with the rates 16 and 1.
struct Fixture {
  LocalOptimizer optimizer{
      std::vector<optim::ParameterGroup>{{.parameters = std::vector{leaf()}, .options = SgdOptions{.lr = 16.0}},
                                         {.parameters = std::vector{leaf()}, .options = SgdOptions{.lr = 1.0}}}};
  optim::StepLr halves{{.step_size = 2, .gamma = 0.5}};

  void expect_rates(double first, double second) const {
    BOOST_TEST(optimizer.lr(0) == first);
    BOOST_TEST(optimizer.lr(1) == second);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lr_scheduler, Fixture)

BOOST_AUTO_TEST_CASE(every_group_follows_the_schedule_from_its_own_rate) {
  LrScheduler scheduler(optimizer, optim::LinearLr({.start_factor = 0.25, .total_iters = 3}));
  expect_rates(4.0, 0.25);
  scheduler.step();
  expect_rates(8.0, 0.5);
  BOOST_TEST(scheduler.steps() == 1);
}

BOOST_AUTO_TEST_CASE(groups_may_have_schedules_of_their_own) {
  LrScheduler scheduler(optimizer, {halves, optim::ExponentialLr({.gamma = 0.25})});
  scheduler.step();
  expect_rates(16.0, 0.25);
  scheduler.step();
  expect_rates(8.0, 0.0625);
  expect_throw<ValueError>([&] { LrScheduler(optimizer, std::vector<optim::LrSchedule>{halves}); },
                           "[lr_scheduler] 1 schedules for 2 groups");
}

BOOST_AUTO_TEST_CASE(a_rate_that_makes_no_sense_is_refused) {
  const auto nonsense = [](double, std::int64_t) { return -1.0; };
  expect_throw<ValueError>([&] { LrScheduler(optimizer, nonsense); }, "[sgd] lr is not a number >= 0: -1");
}

BOOST_AUTO_TEST_CASE(a_step_or_momentum_that_is_refused_changes_nothing) {
  const auto nonsense_later = [](double base, std::int64_t step) { return step < 1 ? base / 2 : -1.0; };
  LrScheduler scheduler(optimizer, {halves, nonsense_later});
  expect_rates(16.0, 0.5);
  expect_throw<ValueError>([&] { scheduler.step(); }, "[sgd] lr is not a number >= 0: -1");
  expect_rates(16.0, 0.5);
  BOOST_TEST(scheduler.steps() == 0);

  const auto some = [](double, std::int64_t) { return 0.5; };
  const auto quarter = [](double base, std::int64_t) { return base / 4; };
  expect_throw<ValueError>([&] { LrScheduler(optimizer, quarter, some); },
                           "[sgd] momentum 0.5 for a rule that was made without");
  expect_rates(16.0, 0.5);
}

BOOST_AUTO_TEST_CASE(a_saved_scheduler_goes_on_from_the_rates_that_it_began_with) {
  LrScheduler scheduler(optimizer, halves);
  for (int i = 0; i < 3; ++i) scheduler.step();
  expect_rates(8.0, 0.5);
  Fixture other;
  other.optimizer.set_lr(5.0);
  LrScheduler resumed(other.optimizer, halves);
  resumed.load_state_dict(scheduler.state_dict());
  other.expect_rates(8.0, 0.5);
  resumed.step();
  other.expect_rates(4.0, 0.25);
  BOOST_TEST(resumed.steps() == 4);
}

BOOST_AUTO_TEST_CASE(a_state_that_does_not_fit_is_refused_and_changes_nothing) {
  LrScheduler scheduler(optimizer, halves);
  scheduler.step();
  const auto refused = [&](const NamedTensors& state, const std::string& text) {
    expect_throw<ValueError>([&] { scheduler.load_state_dict(state); }, "[load_state_dict] " + text);
    BOOST_TEST(scheduler.steps() == 1);
    expect_rates(16.0, 1.0);
  };
  const NamedTensors good = scheduler.state_dict();
  const auto steps = [](double value) {
    return std::pair(std::string("lr_scheduler.steps"), full({}, value, DType::i64));
  };
  const auto base = [](const Tensor& x) { return std::pair(std::string("lr_scheduler.base"), x); };
  refused({good[1]}, "missing: lr_scheduler.steps");
  refused({good[0]}, "missing: lr_scheduler.base");
  refused({steps(-1.0), good[1]}, "lr_scheduler.steps is -1, not >= 0");
  refused({good[0], base(f64({1.0}))}, "lr_scheduler.base is f64 (1), not f64 (2)");
  refused({good[0], base(ones({2}))}, "lr_scheduler.base is f32 (2), not f64 (2)");
  refused({good[0], base(f64({1.0, -1.0}))}, "lr_scheduler.base are not numbers >= 0");
  refused({good[0], base(f64({1.0, std::numeric_limits<double>::quiet_NaN()}))},
          "lr_scheduler.base are not numbers >= 0");
  refused({good[0], good[1], {"lr_scheduler.gamma", ones({})}}, "unexpected: lr_scheduler.gamma");
}

BOOST_AUTO_TEST_SUITE_END()
