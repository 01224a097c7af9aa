#include "optim/lr_schedule.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <vector>

#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(lr_schedule)

using namespace troupe::optim;

namespace {

/// Checks the rates of the steps 0, 1, ... with a base of 16; a few roundings of f64.
void rates(const LrSchedule& schedule, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const double rate = schedule(16.0, static_cast<std::int64_t>(step));
    BOOST_TEST(rate == expected[step], boost::test_tools::tolerance(1e-14));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_multiply_the_rate_at_equal_distances) {
  rates(StepLr({.step_size = 2, .gamma = 0.5}), {16, 16, 8, 8, 4, 4});
}

BOOST_AUTO_TEST_CASE(milestones_multiply_the_rate_where_they_are) {
  rates(MultiStepLr({.milestones = {4, 1, 4}, .gamma = 0.5}), {16, 8, 8, 8, 2, 2});
  rates(MultiStepLr({}), {16, 16});
}

BOOST_AUTO_TEST_CASE(an_exponential_multiplies_the_rate_every_time) {
  rates(ExponentialLr({.gamma = 0.5}), {16, 8, 4, 2, 1});
}

BOOST_AUTO_TEST_CASE(a_cosine_falls_to_its_minimum_and_rises_again) {
  // cos of 0, 60, 120, 180, 240, ... degrees: 1, 1/2, -1/2, -1, -1/2, 1/2, 1
  rates(CosineAnnealingLr({.t_max = 3, .eta_min = 4.0}), {16, 13, 7, 4, 7, 13, 16});
}

BOOST_AUTO_TEST_CASE(a_warm_up_goes_straight_to_its_end_and_stays_there) {
  rates(LinearLr({.start_factor = 0.25, .total_iters = 3}), {4, 8, 12, 16, 16});
  rates(LinearLr({.start_factor = 1.0, .end_factor = 0.0, .total_iters = 2}), {16, 8, 0, 0});
}

BOOST_AUTO_TEST_CASE(chained_schedules_multiply_their_factors) {
  rates(ChainedLr({LinearLr({.start_factor = 0.5, .total_iters = 2}), StepLr({.step_size = 2, .gamma = 0.25})}),
        {8, 12, 4, 4, 1});
}

BOOST_AUTO_TEST_CASE(sequential_schedules_follow_each_other_from_their_own_beginning) {
  rates(SequentialLr({LinearLr({.start_factor = 0.5, .total_iters = 2}), ExponentialLr({.gamma = 0.5}), StepLr({})},
                     {2, 5}),
        {8, 12, 16, 8, 4, 16, 1.6});
  rates(SequentialLr({ExponentialLr({.gamma = 0.5})}, {}), {16, 8});
}

BOOST_AUTO_TEST_CASE(a_function_is_a_schedule) {
  rates([](double base, std::int64_t step) { return base / static_cast<double>(step + 1); }, {16, 8, 16.0 / 3.0, 4});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_throw<ValueError>([] { StepLr({.step_size = 0}); }, "[step_lr] step_size is not above 0: 0");
  expect_throw<ValueError>([] { StepLr({.gamma = -1.0}); }, "[step_lr] gamma is not a number >= 0: -1");
  expect_throw<ValueError>([&] { MultiStepLr({.gamma = nan}); }, "[multi_step_lr] gamma is not a number >= 0: nan");
  expect_throw<ValueError>([] { ExponentialLr({.gamma = -1.0}); }, "[exponential_lr] gamma is not a number >= 0: -1");
  expect_throw<ValueError>([] { CosineAnnealingLr({.t_max = -1}); }, "[cosine_annealing_lr] t_max is not above 0: -1");
  expect_throw<ValueError>([] { CosineAnnealingLr({.eta_min = -1.0}); },
                           "[cosine_annealing_lr] eta_min is not a number >= 0: -1");
  expect_throw<ValueError>([] { LinearLr({.start_factor = -1.0}); },
                           "[linear_lr] start_factor is not a number >= 0: -1");
  expect_throw<ValueError>([&] { LinearLr({.end_factor = nan}); }, "[linear_lr] end_factor is not a number >= 0: nan");
  expect_throw<ValueError>([] { LinearLr({.total_iters = 0}); }, "[linear_lr] total_iters is not above 0: 0");
  expect_throw<ValueError>([] { ChainedLr({}); }, "[chained_lr] no schedules");
  const auto sequential = [](std::size_t count, std::vector<std::int64_t> milestones) {
    return [=] { SequentialLr(std::vector<LrSchedule>(count, StepLr({})), milestones); };
  };
  expect_throw<ValueError>(sequential(3, {1}), "[sequential_lr] 3 schedules have 2 milestones between them, not 1");
  expect_throw<ValueError>(sequential(3, {2, 2}), "[sequential_lr] milestones are not ascending and above 0: 2, 2");
  expect_throw<ValueError>(sequential(2, {0}), "[sequential_lr] milestones are not ascending and above 0: 0");
}

BOOST_AUTO_TEST_CASE(constant_polynomial_and_restarted_cosine_rates) {
  const optim::LrSchedule constant = optim::ConstantLr({.factor = 0.25, .total_iters = 2});
  for (const auto& [step, rate] : {std::pair{0, 2.0}, {1, 2.0}, {2, 8.0}, {100, 8.0}})
    BOOST_TEST(constant(8.0, step) == rate);
  const optim::LrSchedule square = optim::PolynomialLr({.total_iters = 4, .power = 2.0});
  for (const auto& [step, rate] : {std::pair{0, 16.0}, {1, 9.0}, {2, 4.0}, {3, 1.0}, {4, 0.0}, {9, 0.0}})
    BOOST_TEST(square(16.0, step) == rate);
  // Cycles of 2, 4, 8 steps begin at 0, 2 and 6; in the middle of each the rate is halfway between 10 and 2.
  const optim::LrSchedule restarted = optim::CosineAnnealingWarmRestarts({.t_0 = 2, .t_mult = 2, .eta_min = 2.0});
  for (const auto& [step, rate] :
       {std::pair{0, 10.0}, {1, 6.0}, {2, 10.0}, {4, 6.0}, {6, 10.0}, {10, 6.0}, {14, 10.0}}) {
    BOOST_TEST(restarted(10.0, step) == rate, boost::test_tools::tolerance(1e-12));
  }
  const optim::LrSchedule equal = optim::CosineAnnealingWarmRestarts({.t_0 = 4});
  BOOST_TEST(equal(10.0, std::numeric_limits<std::int64_t>::max()) == equal(10.0, 3),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(restarted(10.0, std::numeric_limits<std::int64_t>::max()) >= 2.0);
}

BOOST_AUTO_TEST_CASE(settings_of_these_that_make_no_sense_are_refused) {
  const auto refused = [](const auto& make, const char* text) { expect_throw<ValueError>(make, text); };
  refused([] { (void)optim::ConstantLr({.factor = -1.0}); }, "[constant_lr] factor is not a number >= 0: -1");
  refused([] { (void)optim::ConstantLr({.total_iters = 0}); }, "[constant_lr] total_iters is not above 0: 0");
  refused([] { (void)optim::PolynomialLr({.total_iters = 0}); }, "[polynomial_lr] total_iters is not above 0: 0");
  refused([] { (void)optim::PolynomialLr({.power = -1.0}); }, "[polynomial_lr] power is not a number >= 0: -1");
  refused([] { (void)optim::CosineAnnealingWarmRestarts({.t_0 = 0}); },
          "[cosine_annealing_warm_restarts] t_0 is not above 0: 0");
  refused([] { (void)optim::CosineAnnealingWarmRestarts({.t_mult = 0}); },
          "[cosine_annealing_warm_restarts] t_mult is not above 0: 0");
  refused([] { (void)optim::CosineAnnealingWarmRestarts({.eta_min = -1.0}); },
          "[cosine_annealing_warm_restarts] eta_min is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
