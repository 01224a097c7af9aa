// Optimizers of parameters on several nodes: steps equal those of one optimizer here.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "actors/dist_optimizer.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "optim/clip.h"
#include "optim/local_optimizer.h"
#include "optim/lr_schedule.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(dist_optimizer, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;

/// Parameters on p1, p2, p1 and here, and their equals, all here.
struct Twins {
  explicit Twins(const Node& trainer) {
    for (const NodeName node : {"p1", "p2", "p1", "trainer"}) {
      const double value = 1.0 + 0.25 * static_cast<double>(far.size());
      far.push_back(trainer.remote(node, &make_leaf, 3, value));
      near.push_back(make_leaf(3, value));
    }
  }

  /// Passes over the same function of both. Returns the gradients of those here.
  Gradients backward_both(const DistContext& context, const Tensor& x, std::size_t used) const {
    Variable apart = x;
    Variable here = x;
    for (std::size_t i = 0; i < used; ++i) {
      apart = tanh(context.rpc_sync(far[i].owner(), &times_leaf, apart, far[i])) * 3.0;
      here = tanh(here * near[i]) * 3.0;
    }
    backward(context, sum(apart));
    return backward(sum(here));
  }

  void check(const Node& trainer) const {
    for (std::size_t i = 0; i < far.size(); ++i) {
      BOOST_TEST(same_bytes(far[i].to_here(trainer).value(), near[i].value()), "parameter " << i);
    }
  }

  std::vector<Leaf> far;
  std::vector<Variable> near;
};

const Tensor kInput = from_values<float>({0.5F, -1.0F, 2.0F});

const std::vector<StepMode> kModes{StepMode::atomic, StepMode::hogwild};

std::vector<optim::RuleOptions> rules() {
  return {optim::SgdOptions{.lr = 0.1},
          optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
          optim::AdamOptions{.amsgrad = true},
          optim::AdamWOptions{.amsgrad = true},
          optim::AdagradOptions{},
          optim::AdadeltaOptions{},
          optim::RMSpropOptions{.momentum = 0.5, .centered = true},
          optim::AdamaxOptions{},
          optim::RpropOptions{}};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(steps_of_every_rule_equal_local_ones, OnSharedCluster, *label("Z-01")) {
  for (const optim::RuleOptions& rule : rules()) {
    for (const StepMode mode : kModes) {
      const Twins twins(trainer);
      const DistOptimizer apart(trainer, rule, twins.far, mode);
      optim::LocalOptimizer here(twins.near, rule);
      for (int step = 0; step < 5; ++step) {
        const DistContext context(trainer);
        here.step(twins.backward_both(context, kInput, 4));
        apart.step(context);
      }
      BOOST_TEST_CONTEXT(optim::rule_name(rule)) { twins.check(trainer); }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(parameters_that_got_no_gradient_stay, OnSharedCluster, *label("Z-02")) {
  const Twins twins(trainer);
  const DistOptimizer apart(trainer, optim::SgdOptions{.lr = 0.1, .weight_decay = 0.5}, twins.far);
  optim::LocalOptimizer here(twins.near, optim::SgdOptions{.lr = 0.1, .weight_decay = 0.5});
  const DistContext context(trainer);
  here.step(twins.backward_both(context, kInput, 2));
  apart.step(context);
  twins.check(trainer);
  BOOST_TEST(same_bytes(twins.near[3].value(), full({3}, 1.75)));
}

BOOST_FIXTURE_TEST_CASE(step_that_fails_on_one_owner_changes_nothing, OnSharedCluster, *label("Z-03")) {
  for (const StepMode mode : kModes) {
    const Twins twins(trainer);
    const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.1}, twins.far, mode);
    const DistContext context(trainer);
    static_cast<void>(twins.backward_both(context, kInput, 4));
    const Error error = error_of([&] { return optimizer.step(context, {.lr = -1.0}), 0; });
    BOOST_TEST(error.code == ErrorCode::step_not_applied);
    BOOST_TEST(error.operation == "step");
    BOOST_TEST(error.cause.find("[sgd] lr is not a number >= 0: -1") != std::string::npos, error.text());
    twins.check(trainer);
  }
}

BOOST_FIXTURE_TEST_CASE(optimizer_that_cannot_be_made_says_why, OnSharedCluster, *label("Z-04")) {
  const Twins twins(trainer);
  const Error error = error_of([&] { DistOptimizer(trainer, optim::SgdOptions{.lr = -1.0}, twins.far); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.operation == "create optimizer");
  BOOST_TEST(error.message == "[sgd] lr is not a number >= 0: -1");
}

BOOST_FIXTURE_TEST_CASE(rate_of_a_schedule_travels_in_the_step, OnSharedCluster) {
  const optim::LrSchedule schedule = optim::StepLr({.step_size = 2, .gamma = 0.5});
  for (const StepMode mode : kModes) {
    const Twins twins(trainer);
    const optim::SgdOptions rule{.lr = 0.2, .momentum = 0.9};
    const DistOptimizer apart(trainer, rule, twins.far, mode);
    optim::LocalOptimizer here(twins.near, rule);
    for (int step = 0; step < 6; ++step) {
      const DistContext context(trainer);
      here.set_lr(schedule(0.2, step));
      here.step(twins.backward_both(context, kInput, 4));
      apart.step(context, {.lr = schedule(0.2, step)});
    }
    const DistContext context(trainer);
    here.set_lr(0.2);
    here.step(twins.backward_both(context, kInput, 4));
    apart.step(context);  // without a rate: the rule's own
    twins.check(trainer);
  }
}

BOOST_FIXTURE_TEST_CASE(gradients_are_clipped_by_their_norm_over_all_owners, OnSharedCluster) {
  for (const StepMode mode : kModes) {
    const Twins twins(trainer);
    const DistOptimizer apart(trainer, optim::SgdOptions{.lr = 1.0}, twins.far, mode);
    optim::LocalOptimizer here(twins.near, optim::SgdOptions{.lr = 1.0});
    for (int step = 0; step < 3; ++step) {
      const DistContext context(trainer);
      const Gradients gradients = twins.backward_both(context, kInput, 4);
      const double norm = apart.gradient_norm(context);
      BOOST_TEST(std::abs(norm - optim::global_norm(gradients)) <= 1e-12 * norm);
      here.step(gradients, {.gradient_scale = 0.5 * optim::clip_scale(0.5 * norm, 0.1)});
      apart.step(context, {.gradient_scale = 0.5, .max_norm = 0.1});
    }
    twins.check(trainer);
  }
}

BOOST_FIXTURE_TEST_CASE(gradients_are_limited_by_value, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer apart(trainer, optim::SgdOptions{.lr = 1.0}, twins.far);
  optim::LocalOptimizer here(twins.near, optim::SgdOptions{.lr = 1.0});
  const DistContext context(trainer);
  here.step(twins.backward_both(context, kInput, 4), {.gradient_scale = 2.0, .gradient_limit = 0.01});
  apart.step(context, {.gradient_scale = 2.0, .gradient_limit = 0.01});
  twins.check(trainer);
}

BOOST_FIXTURE_TEST_CASE(norm_that_is_not_finite_or_limit_that_is_none_stops_the_step, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, twins.far);
  const DistContext context(trainer);
  static_cast<void>(twins.backward_both(context, full({3}, std::numeric_limits<double>::quiet_NaN()), 4));
  BOOST_CHECK_THROW(optimizer.step(context, {.max_norm = 1.0}), ValueError);
  const DistContext finite(trainer);
  static_cast<void>(twins.backward_both(finite, kInput, 4));
  BOOST_CHECK_THROW(optimizer.step(finite, {.max_norm = -1.0}), ValueError);
  twins.check(trainer);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
