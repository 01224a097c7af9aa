// Common properties of all rules.
#include "optim/rule_options.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tensor/create.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::Optimizer;
using optim::ParameterUpdate;
using optim::RuleOptions;

BOOST_AUTO_TEST_SUITE(rule_options)

namespace {

/// Every rule with all its state tensors.
std::vector<RuleOptions> all_rules() {
  return {optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
          optim::AdamOptions{.lr = 0.1, .weight_decay = 0.01, .amsgrad = true},
          optim::AdamWOptions{.lr = 0.1, .amsgrad = true},
          optim::AdagradOptions{.lr = 0.5, .lr_decay = 0.01},
          optim::AdadeltaOptions{.eps = 1e-3},
          optim::RMSpropOptions{.lr = 0.1, .momentum = 0.9, .centered = true},
          optim::AdamaxOptions{.lr = 0.1},
          optim::RpropOptions{.lr = 0.1},
          optim::NAdamOptions{.lr = 0.1, .weight_decay = 0.01},
          optim::RAdamOptions{.lr = 0.1, .weight_decay = 0.01},
          optim::AsgdOptions{.lr = 0.1, .t0 = 2.0},
          optim::SparseAdamOptions{.lr = 0.1}};
}

/// An archive that calls `visit` with each number of the options.
struct NumbersOf {
  std::function<void(double&)> visit;

  template <class... Fields>
  void operator()(Fields&... fields) {
    (one(fields), ...);
  }
  void one(double& number) { visit(number); }
  void one(bool& /*flag*/) {}
};

Tensor step_once(Optimizer& rule, const Tensor& value, const Tensor& gradient) {
  const ParameterUpdate update{0, value, gradient, empty(value.shape(), value.dtype())};
  rule.step(std::span(&update, 1));
  return update.next;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_rule_has_its_name) {
  std::vector<std::string> names;
  for (const RuleOptions& options : all_rules()) {
    names.emplace_back(optim::rule_name(options));
    BOOST_TEST(optim::make_rule(options)->name() == names.back());
  }
  const std::vector<std::string> expected{"sgd",    "adam",  "adamw", "adagrad", "adadelta", "rmsprop",
                                          "adamax", "rprop", "nadam", "radam",   "asgd",     "sparse_adam"};
  BOOST_TEST(names == expected);
}

BOOST_AUTO_TEST_CASE(options_that_are_no_numbers_are_refused_by_every_rule) {
  std::size_t refused = 0;
  const auto refuses = [&refused](auto options) {
    NumbersOf numbers{[&](double& number) {
      const double before = number;
      for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        number = bad;
        BOOST_CHECK_THROW(static_cast<void>(optim::make_rule(options)), ValueError);
        ++refused;
      }
      number = before;
    }};
    options.serialize(numbers);
  };
  for (const RuleOptions& options : all_rules()) std::visit(refuses, options);
  BOOST_TEST(refused == 2U * (4 + 5 + 5 + 5 + 4 + 5 + 5 + 5 + 6 + 5 + 5 + 4));
}

BOOST_AUTO_TEST_CASE(values_and_gradients_are_never_written_to) {
  for (const RuleOptions& options : all_rules()) {
    const auto rule = optim::make_rule(options);
    const Tensor value = f64({2.0});
    const Tensor gradient = f64({3.0});
    step_once(*rule, value, gradient);
    BOOST_TEST(step_once(*rule, value, gradient).item() != 2.0);
    expect(value, {2.0});
    expect(gradient, {3.0});
  }
}

BOOST_AUTO_TEST_CASE(a_step_rolled_back_leaves_no_trace) {
  for (const RuleOptions& options : all_rules()) {
    Generator generator(8);
    const auto straight = optim::make_rule(options);
    const auto with_detours = optim::make_rule(options);
    Tensor value = randn({37}, generator);
    for (int i = 0; i < 4; ++i) {
      const Tensor gradient = randn({37}, generator);
      const ParameterUpdate detour{0, value, randn({37}, generator), empty({37})};
      with_detours->prepare(std::span(&detour, 1));
      with_detours->rollback();
      const ParameterUpdate update{0, value, gradient, empty({37})};
      with_detours->prepare(std::span(&update, 1));
      with_detours->commit();
      value = step_once(*straight, value, gradient);
      BOOST_TEST(same_bytes(value, update.next), optim::rule_name(options) << " in step " << i);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_parameter_counts_its_own_steps) {
  for (const RuleOptions& options : all_rules()) {
    const auto rule = optim::make_rule(options);
    const auto fresh = optim::make_rule(options);
    for (int i = 0; i < 3; ++i) step_once(*rule, f64({2.0}), f64({3.0}));
    const ParameterUpdate late{5, f64({2.0}), f64({3.0}), f64({0.0})};
    rule->step(std::span(&late, 1));
    BOOST_TEST(rule->steps(0) == 3);
    BOOST_TEST(rule->steps(5) == 1);
    BOOST_TEST(same_bytes(late.next, step_once(*fresh, f64({2.0}), f64({3.0}))));
  }
}

BOOST_AUTO_TEST_CASE(every_rule_finds_the_lowest_point_of_a_bowl) {
  for (const RuleOptions& options : all_rules()) {
    const auto rule = optim::make_rule(options);
    Tensor value = f64({3.0, -2.0});
    for (int i = 0; i < 500; ++i) value = step_once(*rule, value, value.clone());  // the gradient of half the square
    BOOST_TEST(allclose(value, f64({0.0, 0.0}), 0.0, 0.1), optim::rule_name(options));
  }
}

BOOST_AUTO_TEST_SUITE_END()
