#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"
#include "actors/shards/shards.h"
#include "actors/shards/shared_shard.h"
#include "actors/shards/state_names.h"
#include "actors/shards/update_rule.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "messages/codec.h"
#include "node/local_cluster.h"
#include "node/sim/faulty_link.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/scenarios/lost_messages.h"
#include "tests/scenarios/training_functions.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Two trainers and two owners; parameters of two elements, value 2 on ps0 and 3 on ps1.
struct TwoTrainers {
  LocalCluster nodes{{"a", "b", "ps0", "ps1"}, training_functions()};
  Node& a = nodes.node("a");
  Node& b = nodes.node("b");
  Parameter w0 = a.remote("ps0", &make_parameter, 2, 2.0);
  Parameter w1 = a.remote("ps1", &make_parameter, 2, 3.0);
  Variable x{full({2}, 0.5), RequiresGrad::yes};

  [[nodiscard]] Tensor value(const Parameter& parameter) { return a.rpc_sync(parameter.owner(), &value_of, parameter); }

  /// Computes a gradient of 0.5 for each of w0 and w1.
  void backward_through_both(DistContext& context) {
    const Variable y = context.rpc_sync("ps0", &scale, x, w0);
    const Variable z = context.rpc_sync("ps1", &scale, x, w1);
    backward(context, sum(add(y, z)));
  }

  [[nodiscard]] bool shards_become(const std::string& node, std::size_t count) {
    const auto due = std::chrono::steady_clock::now() + 5s;
    while (nodes.node(node).counts().shards != count) {
      if (std::chrono::steady_clock::now() > due) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

/// Returns the answer of the shard of `optimizer` on ps0 to `node` about a step of that node.
Future<msg::AnyMessage> ask_of_step(Node& node, const OptimizerId& optimizer) {
  const Promise<msg::AnyMessage> promise(node);
  detail::NodeCore& core = node.core();
  core.request({"ps0", "shard/" + optimizer.text(), "query", core.clock().now() + 10s,
                msg::ShardQuery{optimizer, core.next_id<StepId>()}},
               [promise](Result<msg::AnyMessage> told) { promise.complete(std::move(told)); });
  return promise.future();
}

/// Returns the id of the next optimizer that `node` creates, if it makes no other id before.
OptimizerId next_optimizer_of(Node& node) {
  return node.core().id_of<OptimizerId>(node.core().next_id<OptimizerId>().serial + 1);
}

/// Takes steps while commits are lost, until one was decided within its deadline: the others have changed nothing.
/// Returns its error.
StepUnknown unknown_step(const Node& driver, const DistOptimizer& optimizer, const std::vector<Parameter>& parameters) {
  for (auto time = 50ms; time < 20s; time *= 2) {
    DistContext context(driver);
    backward_through(context, parameters);
    try {
      optimizer.step(context.with({.deadline = time}));
      break;
    } catch (const StepUnknown& error) {
      return error;
    } catch (const RemoteError& error) {
      if (error.code() != ErrorCode::step_not_applied) throw;
    }
  }
  throw std::logic_error("no step is unknown");
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(steps, TwoTrainers)

BOOST_AUTO_TEST_CASE(a_step_is_answered_when_copies_are_out_of_date_also_while_their_owner_is_at_work) {
  for (const StepMode mode : {StepMode::atomic, StepMode::hogwild}) {
    const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0}, mode);
    DistContext context(a);
    backward_through_both(context);
    const Tensor before = w0.cached(a)->value();
    std::promise<void> began;
    std::promise<void> over;
    std::thread at_work([&] {  // occupies the owner, which handles no other message during that time
      nodes.node("ps0").core().references().use(w0.id(), {detail::UseKind::looks}, [&](const auto&, const auto&) {
        began.set_value();
        over.get_future().wait();
      });
    });
    began.get_future().wait();
    auto stepped = std::async(std::launch::async, [&] {
      optimizer.step(context);
      return w0.cached(a)->value();
    });
    BOOST_TEST((stepped.wait_for(100ms) == std::future_status::timeout));
    over.set_value();
    at_work.join();
    BOOST_TEST(same_bytes(stepped.get(), sub(before, full({2}, 0.5))));
  }
}

BOOST_AUTO_TEST_CASE(a_step_updates_parameters_where_they_live, *boost::unit_test::label("Z-01")) {
  for (const StepMode mode : {StepMode::atomic, StepMode::hogwild}) {
    const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0, w1}, mode);
    const Tensor before0 = value(w0);
    const Tensor before1 = value(w1);
    DistContext context(a);
    backward_through_both(context);
    optimizer.step(context);
    BOOST_TEST(same_bytes(value(w0), sub(before0, full({2}, 0.5))));  // - 1.0 * x
    BOOST_TEST(same_bytes(value(w1), sub(before1, full({2}, 0.5))));
  }
}

BOOST_AUTO_TEST_CASE(state_of_the_rule_stays_with_the_parameters_from_step_to_step, *boost::unit_test::label("Z-01")) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0, .momentum = 0.5}, {w0, w1});
  for (int step = 0; step < 2; ++step) {
    DistContext context(a);
    backward_through_both(context);
    optimizer.step(context);
  }
  BOOST_TEST(same_bytes(value(w0), full({2}, 0.75)));  // v = 0.5: 1.5; v = 0.5 * 0.5 + 0.5: 0.75
}

BOOST_AUTO_TEST_CASE(every_rule_steps_where_the_parameters_live_as_it_does_here, *boost::unit_test::label("Z-01")) {
  const std::vector<optim::RuleOptions> rules{optim::SgdOptions{.momentum = 0.9, .nesterov = true},
                                              optim::AdamOptions{.amsgrad = true},
                                              optim::AdamWOptions{.maximize = true},
                                              optim::AdagradOptions{.lr_decay = 0.5},
                                              optim::AdadeltaOptions{},
                                              optim::RMSpropOptions{.momentum = 0.5, .centered = true},
                                              optim::AdamaxOptions{},
                                              optim::RpropOptions{}};
  for (const optim::RuleOptions& rule : rules) {
    for (const StepMode mode : {StepMode::atomic, StepMode::hogwild}) {
      const DistOptimizer optimizer(a, rule, {w0, w1}, mode);
      const Variable local(value(w0), RequiresGrad::yes);
      optim::LocalOptimizer here(std::vector{local}, rule);
      for (int step = 0; step < 3; ++step) {
        DistContext context(a);
        backward_through_both(context);
        optimizer.step(context);
        here.step(backward(sum(mul(x, local))));
      }
      BOOST_TEST(same_bytes(value(w0), local.value()), optim::rule_name(rule));
    }
  }
}

BOOST_AUTO_TEST_CASE(parameters_without_a_gradient_stay, *boost::unit_test::label("Z-02")) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0, w1});
  DistContext context(a);
  backward(context, sum(context.rpc_sync("ps0", &scale, x, w0)));
  optimizer.step(context);
  BOOST_TEST(same_bytes(value(w0), full({2}, 1.5)));
  BOOST_TEST(same_bytes(value(w1), full({2}, 3.0)));
}

BOOST_AUTO_TEST_CASE(a_backward_after_anothers_step_is_exact_for_the_parameters_of_its_forward) {
  const auto gradients_of_a = [this](bool b_steps_between) {
    const Parameter w = a.remote("ps0", &make_parameter, 2, 0.75);
    DistContext context(a);
    const Variable y = context.rpc_sync("ps0", &bend, x, w);
    if (b_steps_between) {
      a.rpc_sync("b", &train_once, w, full({2}, 0.25));
      BOOST_TEST(same_bytes(value(w), full({2}, 0.5)));  // 0.75 - 1.0 * 0.25
    }
    backward(context, sum(y));
    return std::pair(context.grad(x), context.rpc_sync("ps0", &gradient_of, w));
  };
  const auto expected = gradients_of_a(false);
  const auto got = gradients_of_a(true);
  BOOST_TEST(same_bytes(got.first, expected.first));
  BOOST_TEST(same_bytes(got.second, expected.second));
}

BOOST_AUTO_TEST_CASE(steps_of_two_trainers_on_one_parameter_are_both_counted) {
  const auto train = [this](const std::string& trainer) {
    for (int step = 0; step < 20; ++step) a.rpc_sync(trainer, &train_once, w0, full({2}, 0.25));
  };
  std::thread other([&] { train("b"); });
  train("a");
  other.join();
  BOOST_TEST(same_bytes(value(w0), full({2}, -8.0)));  // 2 - 40 * 0.25
}

BOOST_AUTO_TEST_CASE(an_optimizer_that_cannot_be_made_says_why_and_leaves_no_shard, *boost::unit_test::label("Z-04")) {
  const Error rate = error_of([&] { DistOptimizer(a, optim::SgdOptions{.lr = -1.0}, {w0, w1}); });
  BOOST_TEST((rate.code == ErrorCode::bad_argument));
  BOOST_TEST(rate.operation == "create optimizer");
  BOOST_TEST(rate.message == "[sgd] lr is not a number >= 0: -1");
  const Parameter constant = a.remote("ps0", &make_constant, 2, 1.0);
  const Error leaf = error_of([&] { DistOptimizer(a, optim::SgdOptions{}, {w0, constant}); });
  BOOST_TEST(leaf.message == "[optimizer] parameter 1 is not a leaf that requires a gradient");
  BOOST_TEST(leaf.peer == "ps0");
  BOOST_CHECK_THROW(DistOptimizer(a, optim::SgdOptions{}, {}), std::invalid_argument);
  BOOST_TEST(shards_become("ps0", 0));
  BOOST_TEST(shards_become("ps1", 0));
}

BOOST_AUTO_TEST_CASE(a_step_outside_a_context_is_refused) {
  const DistOptimizer optimizer(a, optim::SgdOptions{}, {w0});
  BOOST_CHECK_EXCEPTION(optimizer.step(a), std::logic_error, [](const std::logic_error& error) {
    return std::string(error.what()) ==
           "[DistOptimizer] the scope has no autograd context: step in the DistContext of the backward pass";
  });
}

BOOST_AUTO_TEST_CASE(shards_end_with_the_last_handle_or_with_its_node, *boost::unit_test::label("fault-F12")) {
  {
    const DistOptimizer optimizer(a, optim::SgdOptions{}, {w0, w1});
    const DistOptimizer copy = optimizer;
    BOOST_TEST(nodes.node("ps1").counts().shards == 1U);
  }
  BOOST_TEST(shards_become("ps0", 0));
  BOOST_TEST(shards_become("ps1", 0));
  const DistOptimizer orphan(a, optim::SgdOptions{}, {w0, w1});
  BOOST_TEST(nodes.node("ps0").counts().shards == 1U);
  nodes.kill("a");
  BOOST_TEST(shards_become("ps0", 0));
}

BOOST_AUTO_TEST_CASE(owners_compute_updates_during_the_pass_and_drop_those_of_one_that_fails) {
  const OptimizerId id = next_optimizer_of(a);
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0, w1});
  const auto early = [&](const char* owner) {
    return nodes.node(owner).core().shards().shared_by(id)->parameters.early_updates();
  };
  {
    DistContext context(a);
    optimizer.overlap(context);
    backward_through_both(context);
    optimizer.step(context);
  }
  for (const char* owner : {"ps0", "ps1"}) BOOST_TEST(early(owner) == 1U);
  {
    DistContext context(a);
    optimizer.overlap(context);
    const Variable y = context.rpc_sync("ps0", &explode_in_backward, context.rpc_sync("ps0", &scale, x, w0));
    BOOST_CHECK_THROW(backward(context, sum(add(y, context.rpc_sync("ps1", &scale, x, w1)))), RemoteError);
    backward_through_both(context);
    optimizer.step(context);
  }
  for (const char* owner : {"ps0", "ps1"}) BOOST_TEST(early(owner) == 1U);
  BOOST_TEST(same_bytes(value(w0), full({2}, 1.0)));  // 2 - 2 * 0.5
  BOOST_TEST(same_bytes(value(w1), full({2}, 2.0)));
}

BOOST_AUTO_TEST_CASE(shards_of_a_shared_optimizer_end_with_the_last_handle_of_the_last_node,
                     *boost::unit_test::label("fault-F12")) {
  std::optional<DistOptimizer> optimizer(std::in_place, a, optim::SgdOptions{.lr = 1.0}, std::vector{w0, w1});
  RRef<SharedTrainer> of_b = a.remote("b", &make_trainer, optimizer->share());
  of_b.created(a).get();
  BOOST_TEST(nodes.node("ps0").counts().shards == 2U);
  optimizer.reset();
  BOOST_TEST(shards_become("ps0", 1));
  a.rpc_sync("b", &take_steps, of_b, w0, w1, 2);
  BOOST_TEST(same_bytes(value(w0), full({2}, 1.0)));  // 2 - 2 * 0.5
  of_b = {};
  for (const char* owner : {"ps0", "ps1"}) BOOST_TEST(shards_become(owner, 0));
}

BOOST_AUTO_TEST_CASE(shared_optimizer_outlives_the_node_that_made_it, *boost::unit_test::label("fault-F12")) {
  for (const char* owner : {"ps0", "ps1"}) static_cast<void>(nodes.node(owner).publish("w", make_parameter(2, 2.0)));
  const auto found_by = [](Node& node) {
    return std::vector{node.find<Variable>("ps0", "w"), node.find<Variable>("ps1", "w")};
  };
  {
    const DistOptimizer of_a(a, optim::SgdOptions{.lr = 1.0, .momentum = 0.5}, found_by(a));
    {
      DistContext context(a);
      backward_through(context, found_by(a));
      of_a.step(context);
    }
    a.rpc_sync("b", &publish_trainer, of_a.share());
    nodes.kill("a");
  }
  for (const char* owner : {"ps0", "ps1"}) BOOST_TEST(shards_become(owner, 1));
  const std::vector<Parameter> all = found_by(b);
  b.rpc_sync("b", &take_steps, b.find<SharedTrainer>("b", "trainer"), all[0], all[1], 1);
  // v = 0.5: 1.5; v = 0.5 * 0.5 + 0.5: 0.75
  for (const Parameter& one : all) BOOST_TEST(same_bytes(b.rpc_sync(one.owner(), &value_of, one), full({2}, 0.75)));
  BOOST_TEST(b.unpublish("trainer"));
  for (const char* owner : {"ps0", "ps1"}) BOOST_TEST(shards_become(owner, 0));
}

BOOST_AUTO_TEST_CASE(saved_state_is_of_one_step_whatever_steps_run, *boost::unit_test::label("fault-F29")) {
  for (const Stepping& mode : {Stepping(StepMode::atomic), Stepping(StepMode::hogwild)}) {
    const Parameter v0 = a.remote("ps0", &make_parameter, 2, 0.0);
    const Parameter v1 = a.remote("ps1", &make_parameter, 2, 0.0);
    const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {v0, v1}, mode);
    std::atomic<bool> over{false};
    std::thread steps([&] {
      while (!over) {
        DistContext context(a);
        backward_through(context, {v0, v1});
        optimizer.step(context);
      }
    });
    double last = -1;
    for (int saves = 0; saves < 10 || last < 20; ++saves) {
      const NamedTensors state = optimizer.state_dict(a, StateContent::rules_and_values);
      std::map<std::string, Tensor> named(state.begin(), state.end());
      // The first step makes the counts.
      const auto count = named.find("groups.0.parameters.0.step");
      const double taken = count == named.end() ? 0.0 : static_cast<double>(count->second.item<std::int64_t>());
      if (taken > 0)
        BOOST_TEST(static_cast<double>(named.at("groups.0.parameters.1.step").item<std::int64_t>()) == taken);
      BOOST_TEST(same_bytes(named.at("groups.0.parameters.0.value"), full({2}, 0.0 - 0.5 * taken)));
      BOOST_TEST(same_bytes(named.at("groups.0.parameters.1.value"), full({2}, 0.0 - 0.5 * taken)));
      BOOST_TEST(taken >= last);
      last = taken;
    }
    over = true;
    steps.join();
  }
}

BOOST_AUTO_TEST_CASE(when_an_owner_is_gone_an_atomic_step_changes_nothing_anywhere,
                     *boost::unit_test::label("Z-03") * boost::unit_test::label("fault-F29")) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0, w1});
  DistContext context(a);
  backward(context, sum(context.rpc_sync("ps0", &scale, x, w0)));  // ps1 takes no part in the context
  nodes.kill("ps1");
  const Error error = error_of([&] { optimizer.step(context); });
  BOOST_TEST((error.code == ErrorCode::step_not_applied));
  BOOST_TEST(error.peer == "ps1");
  BOOST_TEST(error.message == "no parameter was changed");
  BOOST_TEST((error.execution == Execution::never));
  BOOST_TEST(same_bytes(value(w0), full({2}, 2.0)));
}

BOOST_AUTO_TEST_CASE(a_step_in_an_aborted_context_names_who_aborted_it, *boost::unit_test::label("fault-F28")) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0});
  DistContext context(a);
  backward_through_both(context);
  nodes.kill("ps1");
  const auto due = std::chrono::steady_clock::now() + 5s;
  // The abort travels from here to ps0, which never communicated with ps1.
  const auto aborted = [&] {
    const auto gradients = nodes.node("ps0").core().contexts().gradients(context.id()).get_for(1s);
    return gradients && !gradients->ok();
  };
  while (!aborted()) BOOST_REQUIRE(std::chrono::steady_clock::now() < due);
  const Error error = error_of([&] { optimizer.step(context); });
  BOOST_TEST((error.code == ErrorCode::context_aborted));
  BOOST_TEST(error.peer == "ps1");
  BOOST_TEST(same_bytes(value(w0), full({2}, 2.0)));
}

BOOST_AUTO_TEST_CASE(a_hundred_training_steps_leave_nothing_behind, *boost::unit_test::label("S-11")) {
  static_cast<void>(value(w0)), static_cast<void>(value(w1));  // both are created by then
  const auto due = std::chrono::steady_clock::now() + 20s;
  std::map<NodeName, detail::NodeCounts> before;
  for (const char* name : {"a", "b", "ps0", "ps1"}) {
    do {  // the caller has its answer shortly before the callee has finished the call
      before[name] = nodes.node(name).core().counts();
    } while (before[name].served_calls + before[name].pending_requests > 0 && std::chrono::steady_clock::now() < due);
  }
  {
    const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 0.01}, {w0, w1});
    for (int step = 0; step < 100; ++step) {
      DistContext context(a);
      backward_through_both(context);
      const Variable own = context.rpc_sync("a", &bend, x, Parameter(a, x));  // a call to its own node
      backward(context, sum(own));
      optimizer.step(context);
    }
    // 100 steps with gradient 0.5
    BOOST_TEST(allclose(value(w0), full({2}, 2.0 - 100 * 0.01 * 0.5), 1e-5, 1e-5));
  }
  for (const auto& [name, counts] : before) {
    while (nodes.node(name).core().counts() != counts && std::chrono::steady_clock::now() < due)
      std::this_thread::yield();
    BOOST_TEST((nodes.node(name).core().counts() == counts), name << " has not come back to what it had");
  }
}

BOOST_AUTO_TEST_CASE(survivor_that_asks_after_the_drivers_death_is_told_that_nothing_is_known) {
  const OptimizerId id = next_optimizer_of(a);
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0});
  DistContext context(a);
  backward_through_both(context);
  optimizer.step(context);
  BOOST_TEST(ask_of_step(b, id).get().get<msg::ShardOutcome>().version == 1U);
  nodes.kill("a");
  BOOST_TEST(shards_become("ps0", 0));
  const auto after = ask_of_step(b, id).get().get<msg::ShardOutcome>();
  BOOST_TEST((after.state == msg::StepState::unknown));
  BOOST_TEST(after.version == 0U);
}

BOOST_AUTO_TEST_CASE(survivor_that_waits_for_a_shard_in_the_making_is_told_of_the_drivers_death) {
  const auto id = a.core().next_id<OptimizerId>();
  const auto never_made = b.core().next_id<RRefId>();
  const detail::UpdateRule rule = detail::rule_of(optim::SgdOptions{});
  a.core().request({"ps0",
                    "shard/" + id.text(),
                    "create optimizer",
                    {},
                    msg::ShardCreate{id, {{rule.name, rule.options, {never_made}, {0}}}}},
                   [](const Result<msg::AnyMessage>& /*answer*/) {});
  BOOST_TEST(shards_become("ps0", 1));
  const Future<msg::AnyMessage> told = ask_of_step(b, id);
  static_cast<void>(b.rpc_sync("ps0", &make_constant, 1, 0.0));  // by now the earlier question is at the shard
  nodes.kill("a");
  BOOST_TEST((error_of([&] { static_cast<void>(told.get()); }).code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(commit_that_an_owner_refuses_is_repeated_until_it_succeeds,
                     *boost::unit_test::label("fault-F29")) {
  // While the commits are lost, the value on ps1 changes to one that the gradient does not fit.
  std::atomic<bool> lost = true;
  LocalCluster late({"a", "b", "ps0", "ps1"}, training_functions(), losing("ShardCommit", lost));
  Node& driver = late.node("a");
  const Parameter here = driver.remote("ps0", &make_parameter, 2, 2.0);
  const Parameter there = driver.remote("ps1", &make_parameter, 2, 3.0);
  const DistOptimizer optimizer(driver, optim::SgdOptions{.lr = 1.0}, {here, there});
  const StepUnknown step = unknown_step(driver, optimizer, {here, there});
  BOOST_TEST((step.code() == ErrorCode::step_unknown));
  BOOST_TEST(step.error().message == "not known from ps0, ps1");
  driver.rpc_sync("b", &convert_at_owner, there, true);
  lost = false;
  const Future<StepOutcome> outcome = optimizer.outcome(step.step());
  BOOST_TEST(!outcome.get_for(2s).has_value());
  BOOST_TEST(driver.counts().waiting_calls == 1U);
  driver.rpc_sync("b", &convert_at_owner, there, false);
  BOOST_TEST((outcome.get().applied.size() == 2U));
  BOOST_TEST(same_bytes(driver.rpc_sync("ps0", &value_of, here), full({2}, 1.5)));   // 2 - 1.0 * 0.5
  BOOST_TEST(same_bytes(driver.rpc_sync("ps1", &value_of, there), full({2}, 2.5)));  // 3 - 1.0 * 0.5
}

BOOST_AUTO_TEST_CASE(unknown_step_names_the_owners_on_which_it_has_failed) {
  std::atomic<bool> is_cut = false;
  LocalClusterOptions options;
  options.wrap_link = [&is_cut](std::unique_ptr<Link> link) {
    return std::make_unique<sim::FaultyLink>(std::move(link), [&is_cut](const NodeName& to, const Frames&) {
      return to == "ps1" && is_cut ? std::nullopt : sim::Fate(0us);
    });
  };
  LocalCluster late({"a", "ps0", "ps1"}, training_functions(), options);
  Node& driver = late.node("a");
  const Parameter here = driver.remote("ps0", &make_parameter, 2, 2.0);
  const Parameter there = driver.remote("ps1", &make_parameter, 2, 3.0);
  const DistOptimizer optimizer(driver, optim::SgdOptions{.lr = 1.0}, {here, there}, StepMode::hogwild);
  DistContext context(driver);
  const Variable sum_of_both = add(context.rpc_sync("ps0", &scale, x, here), context.rpc_sync("ps1", &scale, x, there));
  backward(context, sum(sum_of_both));
  driver.rpc_sync("ps0", &convert_at_owner, here, true);  // the gradient does not fit
  is_cut = true;
  const Error error = error_of([&] { return optimizer.step(context.with({.deadline = 2s})), 0; });
  BOOST_TEST((error.code == ErrorCode::step_unknown));
  BOOST_TEST(error.message == "not known from ps1, failed on ps0");
}

/// A trainer whose optimizer has a step that is decided on two owners, which do not hear of it.
struct UnknownStep {
  UnknownStep() {
    static_cast<void>(unknown_step(driver, optimizer, {a, b}));
    list.add("optimizer", optimizer);
  }
  /// Returns the error of a save with so much time.
  [[nodiscard]] Error save_within(Duration time) const {
    return error_of([&] { return list.save(driver.with({.deadline = time}), directory.path() / "run"), 0; });
  }

  TemporaryDirectory directory;
  LocalCluster cluster{{"trainer", "ps0", "ps1"},
                       training_functions(),
                       sim::FaultRules({{.message = "ShardCommit", .fail_first = 1'000'000}}).options()};
  Node& driver = cluster.node("trainer");
  const Parameter a = driver.remote("ps0", &make_parameter, 2, 1.0);
  const Parameter b = driver.remote("ps1", &make_parameter, 2, 1.0);
  const DistOptimizer optimizer{driver, optim::SgdOptions{.lr = 0.1}, {a, b}};
  Checkpoint list;
};

BOOST_AUTO_TEST_CASE(save_fails_with_the_owner_that_died_in_a_commit) {
  UnknownStep step;
  BOOST_TEST((step.save_within(50ms).code == ErrorCode::timeout));
  step.cluster.kill("ps0");
  step.cluster.kill("ps1");
  const Error error = step.save_within(1h);
  BOOST_TEST((error.code == ErrorCode::peer_down));
  BOOST_TEST(error.operation == "save state");
}

BOOST_AUTO_TEST_CASE(save_that_waits_between_steps_ends_with_its_node) {
  UnknownStep step;
  std::thread ending([&] { step.cluster.kill("trainer"); });
  const Error error = step.save_within(1h);
  ending.join();
  BOOST_TEST((error.code != ErrorCode::timeout));
}

BOOST_AUTO_TEST_CASE(state_of_more_tensors_than_one_message_has_is_saved_and_loaded) {
  const std::size_t count = msg::DecodeLimits{}.frames_max / 4;  // two states, a number of steps and the value of each
  std::vector<Parameter> parameters{w1};
  for (std::size_t i = 0; i < count; ++i) parameters.push_back(a.remote("ps0", &make_parameter, 1, 1.0));
  const optim::AdamOptions options{.lr = 0.5};
  DistOptimizer optimizer(a, options, parameters);
  DistContext context(a);
  backward(context, context.rpc_sync("ps0", &total_of, parameters.back()));
  optimizer.step(context);
  const NamedTensors one_stepped = optimizer.state_dict(a, StateContent::rules_and_values);
  NamedTensors all;  // as if every parameter of ps0 had taken that step
  for (const auto& [name, tensor] : one_stepped) {
    const auto parsed = detail::parse_state_name(name);
    if (!parsed->place || parsed->place == 0U) all.emplace_back(name, tensor);
    if (parsed->place != count) continue;
    for (std::size_t i = 1; i <= count; ++i)
      all.emplace_back(fmt::format("groups.0.parameters.{}.{}", i, parsed->rest), tensor);
  }
  optimizer.load_state_dict(a, all);
  const NamedTensors loaded = optimizer.state_dict(a, StateContent::rules_and_values);
  BOOST_TEST(loaded.size() > msg::DecodeLimits{}.frames_max);
  std::map<std::string, Tensor> expected(all.begin(), all.end());
  BOOST_TEST(loaded.size() == expected.size());
  for (const auto& [name, tensor] : loaded) BOOST_TEST_REQUIRE(same_bytes(tensor, expected.at(name)));
}

BOOST_AUTO_TEST_CASE(outcome_of_a_step_that_is_not_unknown_is_refused) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0});
  const Error error = error_of([&] { static_cast<void>(optimizer.outcome(a.core().next_id<StepId>()).get()); });
  BOOST_TEST((error.code == ErrorCode::bad_argument));
}

BOOST_AUTO_TEST_CASE(words_about_an_optimizer_are_taken_from_its_node_alone) {
  const OptimizerId id = next_optimizer_of(a);
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 1.0}, {w0, w1});
  detail::NodeCore& stranger = b.core();
  const Promise<msg::AnyMessage> promise(b);
  stranger.request({"ps0", "shard/" + id.text(), "step", stranger.clock().now() + 10s,
                    msg::ShardCommit{id, stranger.next_id<StepId>(), 1'000'000}},
                   [promise](Result<msg::AnyMessage> told) { promise.complete(std::move(told)); });
  BOOST_TEST((error_of([&] { static_cast<void>(promise.future().get()); }).code == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_CASE(atomic_steps_beside_large_calls_end_the_same_number_of_times_on_every_owner) {
  const DistOptimizer optimizer(a, optim::SgdOptions{.lr = 0.125}, {w0, w1});
  std::vector<Future<Tensor>> bulk;
  int applied = 0;
  for (int step = 0; step < 8; ++step) {
    DistContext context(a);
    backward_through_both(context);
    for (const char* owner : {"ps0", "ps1"})
      bulk.push_back(a.rpc_async(owner, &pass_on, zeros({12 * 1024 * 1024})));  // 48 MiB
    try {
      optimizer.step(context);
      ++applied;
    } catch (const RemoteError& error) {
      BOOST_TEST((error.code() == ErrorCode::step_not_applied));
    }
  }
  for (const Future<Tensor>& answer : bulk) static_cast<void>(answer.get_for(20s));
  BOOST_TEST(same_bytes(value(w0), full({2}, 2.0 - applied * 0.0625)));  // 0.125 * 0.5
  BOOST_TEST(same_bytes(value(w1), full({2}, 3.0 - applied * 0.0625)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
