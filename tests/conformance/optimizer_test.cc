// Optimizers of parameters on several nodes: steps equal those of one optimizer here.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/dist_optimizer.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "optim/clip.h"
#include "optim/local_optimizer.h"
#include "optim/lr_cycles.h"
#include "optim/lr_schedule.h"
#include "optim/lr_scheduler.h"
#include "optim/reduce_lr_on_plateau.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/global_norm.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/optimizer_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(dist_optimizer, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;
using namespace std::chrono_literals;

/// Parameters on some nodes, two of them on one, and their equals, all here.
struct Twins {
  explicit Twins(const Node& trainer, const std::vector<NodeName>& owners = {"p1", "p2", "p1", "trainer"}) {
    for (const NodeName& node : owners) {
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

const std::vector<Stepping> kModes{StepMode::atomic, StepMode::hogwild, {StepMode::bounded_staleness, 1}};

std::vector<optim::RuleOptions> rules() {
  return {optim::SgdOptions{.lr = 0.1},
          optim::SgdOptions{.lr = 0.1, .momentum = 0.9},
          optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.25, .maximize = true},
          optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
          optim::AdamOptions{.lr = 0.05},
          optim::AdamOptions{.lr = 0.05, .weight_decay = 0.01, .amsgrad = true},
          optim::AdamWOptions{.lr = 0.05},
          optim::AdamWOptions{.lr = 0.05, .amsgrad = true, .maximize = true},
          optim::AdagradOptions{.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.01},
          optim::AdadeltaOptions{.weight_decay = 0.01},
          optim::RMSpropOptions{},
          optim::RMSpropOptions{.momentum = 0.5, .centered = true},
          optim::AdamaxOptions{.weight_decay = 0.01},
          optim::RpropOptions{},
          optim::NAdamOptions{.weight_decay = 0.01},
          optim::RAdamOptions{.lr = 0.05},
          optim::AsgdOptions{.t0 = 5.0},
          optim::SparseAdamOptions{.lr = 0.05}};
}

/// Two groups: the first and the last parameter, and the others.
template <class Group, class Handle>
std::vector<Group> two_groups(const std::vector<Handle>& all) {
  return {{.parameters = std::vector<Handle>{all[0], all[3]}, .options = optim::SgdOptions{.lr = 0.1, .momentum = 0.9}},
          {.parameters = std::vector<Handle>{all[1], all[2]}, .options = optim::AdamOptions{.lr = 0.05}}};
}

/// Returns whether both have the same names and bits, in the same order.
bool same_state(const NamedTensors& a, const NamedTensors& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_bytes(x.second, y.second); });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(steps_of_every_rule_equal_local_ones, OnSharedCluster, *label("Z-01")) {
  for (const optim::RuleOptions& rule : rules()) {
    for (const Stepping& mode : kModes) {
      const Twins twins(trainer, {"p1", "p2", "p1", "p3"});
      const DistOptimizer apart(trainer, rule, twins.far, mode);
      optim::LocalOptimizer here(twins.near, rule);
      for (int step = 0; step < 20; ++step) {
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

BOOST_FIXTURE_TEST_CASE(atomic_step_that_fails_on_one_owner_changes_nothing, OnSharedCluster, *label("Z-03")) {
  const Twins twins(trainer, {"p1", "p2", "p3", "trainer"});
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.1}, twins.far);
  const DistContext context(trainer);
  const Gradients gradients = twins.backward_both(context, kInput, 4);
  trainer.rpc_sync("p1", &convert_leaf, twins.far[0], DType::f64);  // the gradient does not fit
  const Error error = error_of([&] { return optimizer.step(context), 0; });
  BOOST_TEST(error.code == ErrorCode::step_not_applied);
  BOOST_TEST(error.operation == "step");
  BOOST_TEST(error.text().find("p1") != std::string::npos, error.text());
  trainer.rpc_sync("p1", &convert_leaf, twins.far[0], DType::f32);
  twins.check(trainer);
  optim::LocalOptimizer here(twins.near, optim::SgdOptions{.lr = 0.1});
  here.step(gradients);
  optimizer.step(context);
  twins.check(trainer);
}

BOOST_FIXTURE_TEST_CASE(step_that_no_owner_can_take_changes_nothing, OnSharedCluster) {
  for (const Stepping& mode : kModes) {
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
  BOOST_TEST(error.execution == Execution::never);
}

BOOST_FIXTURE_TEST_CASE(rate_of_a_schedule_travels_in_the_step, OnSharedCluster) {
  const optim::LrSchedule schedule = optim::StepLr({.step_size = 2, .gamma = 0.5});
  for (const Stepping& mode : kModes) {
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

BOOST_FIXTURE_TEST_CASE(every_group_has_a_rule_of_its_own, OnSharedCluster) {
  for (const Stepping& mode : kModes) {
    const Twins twins(trainer);
    const DistOptimizer apart(trainer, two_groups<DistParameterGroup>(twins.far), mode);
    optim::LocalOptimizer here(two_groups<optim::ParameterGroup>(twins.near));
    for (int step = 0; step < 5; ++step) {
      const DistContext context(trainer);
      here.step(twins.backward_both(context, kInput, 4));
      apart.step(context);
    }
    twins.check(trainer);
  }
}

BOOST_FIXTURE_TEST_CASE(rates_of_one_step_are_for_all_groups_or_for_each, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer apart(trainer, two_groups<DistParameterGroup>(twins.far));
  optim::LocalOptimizer here(two_groups<optim::ParameterGroup>(twins.near));
  const auto step = [&](double first, double second, const DistStepOptions& options) {
    const DistContext context(trainer);
    here.set_lr(0, first);
    here.set_lr(1, second);
    here.step(twins.backward_both(context, kInput, 4));
    apart.step(context, options);
  };
  step(0.3, 0.7, {.lr = {0.3, 0.7}});
  step(0.2, 0.2, {.lr = 0.2});
  step(0.1, 0.05, {});  // the groups' own
  twins.check(trainer);
  const DistContext context(trainer);
  BOOST_CHECK_EXCEPTION(apart.step(context, {.lr = {0.1, 0.2, 0.3}}), ValueError, [](const ValueError& error) {
    return error.what() == std::string("[DistOptimizer] 3 rates for 2 groups");
  });
}

BOOST_FIXTURE_TEST_CASE(schedulers_of_local_optimizers_drive_one_over_several_owners, OnSharedCluster) {
  const optim::OneCycle cycle({.max_lr = 0.5, .total_steps = 8});
  for (const Stepping& mode : kModes) {
    const Twins twins(trainer);
    DistOptimizer apart(trainer, two_groups<DistParameterGroup>(twins.far), mode);
    optim::LocalOptimizer here(two_groups<optim::ParameterGroup>(twins.near));
    optim::LrScheduler of_apart(apart, cycle.lr(), cycle.momentum());
    optim::LrScheduler of_here(here, cycle.lr(), cycle.momentum());
    for (int step = 0; step < 8; ++step) {
      const DistContext context(trainer);
      here.step(twins.backward_both(context, kInput, 4));
      apart.step(context);
      of_apart.step();
      of_here.step();
      BOOST_TEST(apart.lr(1) == here.lr(1));
      BOOST_TEST(apart.momentum(0) == here.momentum(0));
    }
    twins.check(trainer);
  }
}

BOOST_FIXTURE_TEST_CASE(rates_fall_on_a_plateau, OnSharedCluster) {
  const Twins twins(trainer);
  DistOptimizer apart(trainer, two_groups<DistParameterGroup>(twins.far));
  optim::ReduceLrOnPlateau plateau(apart, {.factor = 0.5, .patience = 0});
  plateau.step(1.0);
  plateau.step(1.0);
  BOOST_TEST(apart.lr(0) == 0.05);
  BOOST_TEST(apart.lr(1) == 0.025);
  BOOST_CHECK_EXCEPTION(apart.set_lr(0, -1.0), ValueError, [](const ValueError& error) {
    return error.what() == std::string("[sgd] lr is not a number >= 0: -1");
  });
  BOOST_CHECK_EXCEPTION(static_cast<void>(apart.lr(2)), IndexError, [](const IndexError& error) {
    return error.what() == std::string("[optimizer] no group 2 of 2");
  });
}

BOOST_FIXTURE_TEST_CASE(saved_state_is_that_of_a_local_optimizer, OnSharedCluster) {
  for (const Stepping& mode : kModes) {
    const Twins twins(trainer);
    DistOptimizer apart(trainer, two_groups<DistParameterGroup>(twins.far), mode);
    optim::LocalOptimizer here(two_groups<optim::ParameterGroup>(twins.near));
    BOOST_TEST(same_state(apart.state_dict(trainer), here.state_dict()));
    apart.set_lr(1, 0.25);
    here.set_lr(1, 0.25);
    for (int step = 0; step < 3; ++step) {
      const DistContext context(trainer);
      here.step(twins.backward_both(context, kInput, step == 0 ? 4 : 3));
      apart.step(context);
    }
    apart.set_lr(0, 0.125);  // no step has had it yet
    here.set_lr(0, 0.125);
    const NamedTensors state = apart.state_dict(trainer);
    BOOST_TEST(same_state(state, here.state_dict()));
    BOOST_TEST(state.size() > 14U);
    const NamedTensors all = apart.state_dict(trainer, StateContent::rules_and_values);
    for (const auto& [name, tensor] : all) {
      if (name == "groups.1.parameters.1.value") BOOST_TEST(same_bytes(tensor, twins.near[2].value()));
    }
    BOOST_TEST(all.size() == state.size() + 4);
  }
}

BOOST_FIXTURE_TEST_CASE(training_goes_on_from_a_saved_state_on_other_owners, OnSharedCluster) {
  for (const optim::RuleOptions& rule : rules()) {
    const Twins twins(trainer);
    optim::LocalOptimizer here(twins.near, rule);
    NamedTensors saved;
    {
      DistOptimizer apart(trainer, rule, twins.far);
      apart.set_lr(0, 0.03125);
      here.set_lr(0.03125);
      for (int step = 0; step < 3; ++step) {
        const DistContext context(trainer);
        here.step(twins.backward_both(context, kInput, 4));
        apart.step(context);
      }
      saved = apart.state_dict(trainer, StateContent::rules_and_values);
    }
    for (const std::vector<NodeName>& owners : std::vector<std::vector<NodeName>>{
             {"p3", "p3", "p3", "p3"}, {"p4", "trainer", "p2", "p3"}, {"trainer", "trainer", "p1", "p2"}}) {
      Twins moved(trainer, owners);
      DistOptimizer apart(trainer, rule, moved.far);
      apart.load_state_dict(trainer, saved);
      std::vector<Variable> copies;
      for (const Variable& leaf : twins.near) copies.emplace_back(leaf.value().clone(), RequiresGrad::yes);
      moved.near = copies;
      optim::LocalOptimizer goes_on(moved.near, rule);
      goes_on.load_state_dict(here.state_dict());
      for (int step = 0; step < 3; ++step) {
        const DistContext context(trainer);
        goes_on.step(moved.backward_both(context, kInput, 4));
        apart.step(context);
      }
      BOOST_TEST_CONTEXT(optim::rule_name(rule)) { moved.check(trainer); }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(state_of_136_MB_moves_to_another_owner, OnSharedCluster) {
  constexpr std::int64_t kSize = 17'000'000;
  const optim::AdamOptions rule{.lr = 0.125};
  const auto step_once = [&](const DistOptimizer& optimizer, const Leaf& w) {
    const DistContext context(trainer);
    const NodeName owner = w.owner();
    backward(context, sum(context.rpc_sync(owner, &product_of_leaves, w, w)));
    optimizer.step(context);
  };
  const Leaf before = trainer.remote("p1", &make_leaf, kSize, 3.0);
  DistOptimizer optimizer(trainer, rule, {before});
  step_once(optimizer, before);
  const NamedTensors saved = optimizer.state_dict(trainer, StateContent::rules_and_values);
  const Leaf after = trainer.remote("p2", &make_leaf, kSize, 0.0);
  DistOptimizer moved(trainer, rule, {after});
  moved.load_state_dict(trainer, saved);
  step_once(optimizer, before);
  step_once(moved, after);
  BOOST_TEST(same_bytes(after.to_here(trainer).value(), before.to_here(trainer).value()));
}

BOOST_FIXTURE_TEST_CASE(state_that_does_not_fit_is_refused_and_changes_nothing, OnSharedCluster) {
  const Twins twins(trainer);
  const auto rule = optim::AdamOptions{.lr = 0.05};
  DistOptimizer apart(trainer, rule, twins.far);
  const auto train = [&] {
    const DistContext context(trainer);
    static_cast<void>(twins.backward_both(context, kInput, 4));
    apart.step(context);
  };
  train();
  const NamedTensors before = apart.state_dict(trainer, StateContent::rules_and_values);
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    NamedTensors changed = before;
    const auto found = std::ranges::find(changed, name, &NamedTensors::value_type::first);
    found == changed.end() ? void(changed.emplace_back(name, tensor)) : void(found->second = tensor);
    return changed;
  };
  const auto refused = [&](const NamedTensors& state) {
    const Error error = error_of([&] { return apart.load_state_dict(trainer, state), 0; });
    BOOST_TEST(error.code == ErrorCode::step_not_applied);
    BOOST_TEST(error.operation == "load state");
    return error.cause;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  BOOST_TEST(has(refused(with("groups.0.adam.eps", full({}, 0.5, DType::f64))), "groups.0.adam.eps is 0.5, not 1e-08"));
  BOOST_TEST(has(refused(with("groups.0.parameters.1.exp_avg", full({2}, 0.5))),
                 "groups.0.parameters.1.exp_avg is f32 (2), not f32 (3)"));
  BOOST_TEST(has(refused(with("groups.0.parameters.3.value", full({2}, 0.5))),
                 "groups.0.parameters.3.value is f32 (2), not f32 (3)"));
  BOOST_TEST(
      has(refused(with("groups.0.parameters.2.what", full({3}, 0.5))), "unexpected: groups.0.parameters.2.what"));
  BOOST_TEST(has(refused({}), "missing: groups.0.adam.lr"));
  for (const char* name : {"groups.1.adam.lr", "groups.0.parameters.4.exp_avg", "adam.lr", "groups.00.adam.lr"}) {
    BOOST_CHECK_EXCEPTION(
        apart.load_state_dict(trainer, with(name, full({}, 0.5, DType::f64))), ValueError,
        [&](const ValueError& error) { return error.what() == "[load_state_dict] unexpected: " + std::string(name); });
  }
  BOOST_TEST(same_state(apart.state_dict(trainer, StateContent::rules_and_values), before));
  train();
}

BOOST_FIXTURE_TEST_CASE(trainers_on_other_nodes_step_the_same_parameters_with_the_same_state, OnSharedCluster) {
  for (const Stepping& mode : {Stepping(StepMode::atomic), Stepping(StepMode::hogwild)}) {
    const Twins twins(trainer);
    const optim::AdamOptions rule{.lr = 0.05};
    DistOptimizer optimizer(trainer, rule, twins.far, mode);
    optim::LocalOptimizer here(twins.near, rule);
    optimizer.set_lr(0, 0.02);  // travels with the handle
    here.set_lr(0.02);
    // One after the other, each on a node of its own: equal to steps of one trainer.
    BOOST_TEST(trainer.rpc_sync("p3", &train_shared, optimizer.share(), twins.far, kInput, 2) == 2);
    BOOST_TEST(trainer.rpc_sync("p4", &train_shared_at, "p1", optimizer.share(), twins.far, kInput, 1) == 1);
    BOOST_TEST(trainer.rpc_sync("p4", &train_reshared_at, "p2", optimizer.share(), twins.far, kInput, 2) == 2);
    {
      const DistContext context(trainer);
      backward(context, through_leaves(context, kInput, twins.far));
      optimizer.step(context);
    }
    for (int step = 0; step < 6; ++step) {
      Variable y = kInput;
      for (const Variable& leaf : twins.near) y = tanh(y * leaf) * 3.0;
      here.step(backward(sum(y)));
    }
    twins.check(trainer);
    BOOST_TEST(same_state(optimizer.state_dict(trainer), here.state_dict()));
  }
}

BOOST_FIXTURE_TEST_CASE(optimizer_lives_on_in_a_handle_on_its_way, OnSharedCluster) {
  const Twins twins(trainer);
  std::optional<DistOptimizer> optimizer(std::in_place, trainer, optim::SgdOptions{.lr = 0.1}, twins.far);
  const SharedOptimizer shared = optimizer->share();
  optimizer.reset();
  BOOST_TEST(trainer.rpc_sync("p3", &train_shared, shared, twins.far, kInput, 3) == 3);
}

BOOST_FIXTURE_TEST_CASE(updates_computed_during_the_pass_are_those_of_the_step, OnSharedCluster) {
  for (const optim::RuleOptions& rule : rules()) {
    for (const Stepping& mode : kModes) {
      const Twins twins(trainer);
      const DistOptimizer apart(trainer, rule, twins.far, mode);
      optim::LocalOptimizer here(twins.near, rule);
      for (int step = 0; step < 3; ++step) {
        const DistContext context(trainer);
        apart.overlap(context, {.gradient_scale = 0.5});
        here.step(twins.backward_both(context, kInput, step == 1 ? 2 : 4), {.gradient_scale = 0.5});
        apart.step(context, {.gradient_scale = 0.5});
      }
      BOOST_TEST_CONTEXT(optim::rule_name(rule)) { twins.check(trainer); }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(updates_of_a_pass_are_dropped_when_another_pass_or_other_options_follow, OnSharedCluster) {
  const Twins twins(trainer);
  const optim::SgdOptions rule{.lr = 0.1, .momentum = 0.9};
  DistOptimizer apart(trainer, rule, twins.far);
  optim::LocalOptimizer here(twins.near, rule);
  for (int step = 0; step < 2; ++step) {
    const DistContext twice(trainer);
    apart.overlap(twice);
    Gradients sum = twins.backward_both(twice, kInput, 4);
    sum.add(twins.backward_both(twice, kInput * 2.0, 4));
    here.step(sum);
    apart.step(twice);
    const DistContext other(trainer);
    apart.overlap(other);
    here.set_lr(0.3);
    here.step(twins.backward_both(other, kInput, 4));
    here.set_lr(0.1);
    apart.step(other, {.lr = 0.3});
    const DistContext unused(trainer);
    apart.overlap(unused);
    static_cast<void>(twins.backward_both(unused, kInput, 4));
  }
  twins.check(trainer);
}

BOOST_FIXTURE_TEST_CASE(overlap_is_refused_with_clipping_by_the_norm_and_outside_of_a_context, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.1}, twins.far);
  const DistContext context(trainer);
  BOOST_CHECK_EXCEPTION(optimizer.overlap(context, {.max_norm = 1.0}), std::invalid_argument, [](const auto& error) {
    return std::string(error.what()).starts_with("[DistOptimizer] overlap with max_norm:");
  });
  BOOST_CHECK_THROW(optimizer.overlap(trainer), std::logic_error);
}

BOOST_FIXTURE_TEST_CASE(null_handle_of_an_optimizer_is_refused, OnSharedCluster) {
  BOOST_CHECK_EXCEPTION(DistOptimizer(trainer, SharedOptimizer()), std::invalid_argument, [](const auto& error) {
    return error.what() == std::string("[DistOptimizer] the shared optimizer is null");
  });
  const Twins twins(trainer);
  BOOST_CHECK_EXCEPTION(DistOptimizer(trainer, optim::SgdOptions{}, twins.far, {StepMode::hogwild, 2}),
                        std::invalid_argument, [](const auto& error) {
                          return error.what() == std::string("[DistOptimizer] staleness 2 in a mode without one");
                        });
}

BOOST_FIXTURE_TEST_CASE(trainer_waits_for_the_slowest_and_goes_on_when_that_one_leaves, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.01}, twins.far, {StepMode::bounded_staleness, 1});
  const auto step = [&](Deadline deadline) {
    const DistContext context(trainer);
    backward(context, through_leaves(context, kInput, twins.far));
    optimizer.step(context.with({.deadline = deadline}));
  };
  std::optional<DistOptimizer> slow(std::in_place, trainer, optimizer.share());
  step(60s);
  step(60s);
  const Error error = error_of([&] { return step(50ms), 0; });  // 2 steps ahead of a trainer that has taken none
  BOOST_TEST(error.code == ErrorCode::step_not_applied);
  BOOST_TEST(error.cause.find("timeout") != std::string::npos, error.cause);
  slow.reset();
  for (int more = 0; more < 3; ++more) step(60s);
}

BOOST_FIXTURE_TEST_CASE(trainers_take_their_steps_together_without_staleness, OnSharedCluster) {
  const Twins twins(trainer);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.01}, twins.far, StepMode::bounded_staleness);
  std::vector<Future<std::int32_t>> trainers;
  for (const char* node : {"p1", "p2", "p3"})
    trainers.push_back(trainer.rpc_async(node, &train_shared, optimizer.share(), twins.far, kInput, 10));
  for (const Future<std::int32_t>& one : trainers) BOOST_TEST(one.get() == 10);
}

BOOST_FIXTURE_TEST_CASE(gradients_are_clipped_by_their_norm_over_all_owners, OnSharedCluster) {
  for (const Stepping& mode : kModes) {
    const Twins twins(trainer);
    const DistOptimizer apart(trainer, optim::SgdOptions{.lr = 1.0}, twins.far, mode);
    optim::LocalOptimizer here(twins.near, optim::SgdOptions{.lr = 1.0});
    for (int step = 0; step < 3; ++step) {
      const DistContext context(trainer);
      const Gradients gradients = twins.backward_both(context, kInput, 4);
      const double norm = apart.gradient_norm(context);
      double squares = 0;  // in the order of the parameters, whichever nodes they are on
      for (const Variable& parameter : twins.near) squares += sum_of_squares(std::array{gradients.of(parameter)});
      BOOST_TEST(norm == std::sqrt(squares));
      BOOST_TEST(std::abs(norm - optim::global_norm(gradients)) <= 1e-15 * norm);
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

// The second and the third optimizer are of owners that the context never reached: they would find no gradient.
BOOST_FIXTURE_TEST_CASE(step_through_a_scope_whose_context_has_ended_is_refused, OnSharedCluster) {
  const Twins twins(trainer, {"p1", "p2", "trainer"});
  std::optional<Scope> left;
  std::string released;
  {
    const DistContext context(trainer);
    static_cast<void>(twins.backward_both(context, kInput, 1));
    left = context;
    released = "context " + context.id().text() + " does not exist or was released";
  }
  for (const Leaf& parameter : twins.far) {
    DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, {parameter});
    const std::vector<std::pair<std::string, Error>> refused{
        {"step", error_of([&] { optimizer.step(*left); })},
        {"overlap", error_of([&] { optimizer.overlap(*left); })},
        {"gradient_norm", error_of([&] { static_cast<void>(optimizer.gradient_norm(*left)); })}};
    for (const auto& [operation, error] : refused) {
      BOOST_TEST((error.code == ErrorCode::context_aborted), operation);
      BOOST_TEST(error.operation == operation);
      BOOST_TEST(error.message == released);
      BOOST_TEST((error.execution == Execution::never));
    }
  }
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
