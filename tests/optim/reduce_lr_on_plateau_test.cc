#include "optim/reduce_lr_on_plateau.h"

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
using optim::PlateauMode;
using optim::PlateauOptions;
using optim::ReduceLrOnPlateau;
using optim::SgdOptions;
using optim::Threshold;

namespace {

struct OneGroup {
  LocalOptimizer optimizer{std::vector{Variable(f64({1.0}), RequiresGrad::yes)}, SgdOptions{.lr = 16.0}};

  /// Returns the rate after each value of the metric.
  std::vector<double> rates(const PlateauOptions& options, const std::vector<double>& metrics) {
    optimizer.set_lr(16.0);
    ReduceLrOnPlateau plateau(optimizer, options);
    std::vector<double> rates;
    for (const double metric : metrics) {
      plateau.step(metric);
      rates.push_back(optimizer.lr());
    }
    return rates;
  }

  void expect_rates(const PlateauOptions& options, const std::vector<double>& metrics,
                    const std::vector<double>& expected) {
    BOOST_TEST(rates(options, metrics) == expected, boost::test_tools::per_element());
  }
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

BOOST_FIXTURE_TEST_SUITE(reduce_lr_on_plateau, OneGroup)

BOOST_AUTO_TEST_CASE(the_rate_falls_when_patience_is_at_an_end) {
  expect_rates({.factor = 0.5, .patience = 1}, {5, 4, 4, 4, 4, 4, 3, 3}, {16, 16, 16, 8, 8, 4, 4, 4});
  expect_rates({.factor = 0.5, .patience = 0}, {5, 5, 5}, {16, 8, 4});
}

BOOST_AUTO_TEST_CASE(larger_may_be_better) {
  expect_rates({.mode = PlateauMode::max, .factor = 0.5, .patience = 0}, {5, 6, 5, 7}, {16, 16, 8, 8});
}

BOOST_AUTO_TEST_CASE(an_improvement_must_pass_the_threshold) {
  expect_rates({.factor = 0.5, .patience = 0, .threshold = 0.25}, {8, 6, 5.9}, {16, 8, 8});  // below 6
  expect_rates({.factor = 0.5, .patience = 0, .threshold = 1.0, .threshold_mode = Threshold::abs}, {8, 7, 6.9},
               {16, 8, 8});
  expect_rates({.mode = PlateauMode::max, .factor = 0.5, .patience = 0, .threshold = 0.25}, {8, 10, 10.1}, {16, 8, 8});
}

BOOST_AUTO_TEST_CASE(steps_of_the_cooldown_do_not_count) {
  expect_rates({.factor = 0.5, .patience = 0, .cooldown = 2}, {5, 5, 5, 5, 5}, {16, 8, 8, 8, 4});
}

BOOST_AUTO_TEST_CASE(the_rate_has_a_lowest_value_and_small_changes_are_left_out) {
  expect_rates({.factor = 0.5, .patience = 0, .min_lr = 6.0}, {5, 5, 5, 5}, {16, 8, 6, 6});
  expect_rates({.factor = 0.5, .patience = 0, .eps = 5.0}, {5, 5, 5}, {16, 8, 8});
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_is_not_better) {
  expect_rates({.factor = 0.5, .patience = 0}, {kNaN, 5, kNaN}, {8, 8, 4});
}

BOOST_AUTO_TEST_CASE(a_saved_one_goes_on) {
  const PlateauOptions options{.factor = 0.5, .patience = 2, .cooldown = 3};
  const std::vector<double> metrics{5, 5, 5, 5, 5, 4, 4.5, 4.5, 4.5, 4.5};
  const std::vector<double> expected{16, 16, 16, 8, 8, 8, 8, 8, 8, 4};
  expect_rates(options, metrics, expected);
  for (std::size_t saved_after = 0; saved_after < metrics.size(); ++saved_after) {
    optimizer.set_lr(16.0);
    ReduceLrOnPlateau first(optimizer, options);
    for (std::size_t i = 0; i < saved_after; ++i) first.step(metrics[i]);
    ReduceLrOnPlateau resumed(optimizer, options);
    resumed.load_state_dict(first.state_dict());
    BOOST_TEST(resumed.best() == first.best());
    for (std::size_t i = saved_after; i < metrics.size(); ++i) {
      resumed.step(metrics[i]);
      BOOST_TEST(optimizer.lr() == expected[i], "saved after " << saved_after << ", step " << i);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_state_that_does_not_fit_is_refused_and_changes_nothing) {
  ReduceLrOnPlateau plateau(optimizer, {});
  plateau.step(3.0);
  NamedTensors state = plateau.state_dict();
  state[1].second = full({}, -1.0, DType::i64);
  expect_throw<ValueError>([&] { plateau.load_state_dict(state); },
                           "[load_state_dict] plateau.bad_steps is -1, not >= 0");
  state.erase(state.begin());
  expect_throw<ValueError>([&] { plateau.load_state_dict(state); },
                           "[load_state_dict] missing: plateau.best; plateau.bad_steps is -1, not >= 0");
  BOOST_TEST(plateau.best() == 3.0);
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto refused = [&](const PlateauOptions& options, const std::string& text) {
    expect_throw<ValueError>([&] { ReduceLrOnPlateau(optimizer, options); }, "[reduce_lr_on_plateau] " + text);
  };
  refused({.factor = 1.0}, "factor is not a number in [0, 1): 1");
  refused({.patience = -1}, "patience is not >= 0: -1");
  refused({.threshold = kNaN}, "threshold is not a number >= 0: nan");
  refused({.cooldown = -1}, "cooldown is not >= 0: -1");
  refused({.min_lr = -1.0}, "min_lr is not a number >= 0: -1");
  refused({.eps = -1.0}, "eps is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
