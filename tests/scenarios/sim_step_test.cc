#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/scenarios/sim_seeds.h"
#include "tests/scenarios/training_functions.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_step)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"trainer", "ps0", "ps1", "keeper"};
constexpr int kSteps = 5;

/// The outcomes of the steps of one program, as it saw them.
struct Account {
  int applied = 0;
  int not_applied = 0;
  int unknown = 0;
  double taken_by_ps0 = 0;  ///< read from its parameter at the end
  std::optional<double> taken_by_ps1;
};

/// A gradient of 0.5 for each of w0 and w1, from the same `x`: with rate 1 every step subtracts 0.5.
void step_once(const Scope& scope, const DistOptimizer& optimizer, const Parameter& w0, const Parameter& w1) {
  const Variable x(full({1}, 0.5), RequiresGrad::yes);
  DistContext context(scope);
  const Variable y = context.rpc_sync("ps0", &scale, x, w0);
  const Variable z = context.rpc_sync("ps1", &scale, x, w1);
  backward(context, sum(add(y, z)));
  optimizer.step(context);
}

/// Takes kSteps steps on parameters of other nodes.
void train_for_others(Scope& scope, const Parameter& w0, const Parameter& w1) {
  const DistOptimizer optimizer(scope, optim::SgdOptions{.lr = 1.0}, {w0, w1});
  for (int step = 0; step < kSteps; ++step) step_once(scope, optimizer, w0, w1);
}

void train_on_three(Scope& scope, const Parameter& w0, const Parameter& w1, const Parameter& w2) {
  const DistOptimizer optimizer(scope, optim::SgdOptions{.lr = 1.0}, {w0, w1, w2});
  for (int step = 0; step < kSteps; ++step) {
    const Variable x(full({1}, 0.5), RequiresGrad::yes);
    DistContext context(scope);
    Variable sum_of_all = context.rpc_sync("ps0", &scale, x, w0);
    sum_of_all = add(sum_of_all, context.rpc_sync("ps1", &scale, x, w1));
    sum_of_all = add(sum_of_all, context.rpc_sync("ps2", &scale, x, w2));
    backward(context, sum(sum_of_all));
    optimizer.step(context);
  }
}

FunctionRegistry functions() { return training_functions().with({{"train_for_others", &train_for_others}}); }

/// Returns the number of steps that the parameter has taken; not whole if a step was torn.
double steps_taken(Node& node, const Parameter& parameter) {
  return node.rpc_sync(parameter.owner(), &value_of, parameter).item<float>() / -0.5;
}

Account train(Node& node) {
  Account account;
  const Parameter w0 = node.remote("ps0", &make_parameter, 1, 0.0);
  const Parameter w1 = node.remote("ps1", &make_parameter, 1, 0.0);
  try {
    const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 1.0}, {w0, w1});
    for (int step = 0; step < kSteps; ++step) {
      try {
        step_once(node, optimizer, w0, w1);
        ++account.applied;
      } catch (const RemoteError& error) {
        ++(error.code() == ErrorCode::step_unknown ? account.unknown : account.not_applied);
      }
    }
    account.taken_by_ps1 = steps_taken(node, w1);
  } catch (const RemoteError&) {
    // ps1 is gone.
  }
  account.taken_by_ps0 = steps_taken(node, w0);
  return account;
}

bool nothing_left(sim::World& world) {
  for (const NodeName& name : kNames) {
    if (!world.is_alive(name)) continue;
    const detail::NodeCounts counts = world.node(name).counts();
    if (counts.shards + counts.contexts + counts.owned_values + counts.handles + counts.pending_requests +
            counts.waiting_calls >
        0)
      return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_over_bad_links_are_each_applied_once, *boost::unit_test::label("fault-F03")) {
  FaultsSeen seen;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, functions());
      const TraceIfFailed show(world);
      const Account account = world.on("trainer", &train).get();
      BOOST_TEST(account.applied == kSteps);
      BOOST_TEST(account.taken_by_ps0 == kSteps);
      BOOST_TEST((account.taken_by_ps1 == kSteps));
      BOOST_TEST(world.step_until([&] { return nothing_left(world); }));
      seen.add(world.counts());
    }
  }
  seen.check_links();
}

BOOST_AUTO_TEST_CASE(when_an_owner_dies_in_a_step_the_others_have_applied_what_the_driver_was_told,
                     *boost::unit_test::label("fault-F29")) {
  FaultsSeen seen;
  Account all;
  for (const std::uint64_t seed : seeds(150)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, functions());
      const TraceIfFailed show(world);
      const Future<Account> program = world.on("trainer", &train);
      world.kill_after(world.draw(1500), "ps1", world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
      const Account account = program.get();
      // A step whose outcome on ps1 is unknown was applied on all other nodes.
      BOOST_TEST(account.taken_by_ps0 == account.applied + account.unknown);
      all.applied += account.applied;
      all.not_applied += account.not_applied;
      all.unknown += account.unknown;
      world.run_for(2s);
      BOOST_TEST(world.step_until([&] { return nothing_left(world); }));
      seen.add(world.counts());
    }
  }
  BOOST_TEST(all.applied > 0);
  BOOST_TEST(all.not_applied > 0);
  BOOST_TEST(all.unknown > 0);  // some nodes died between prepare and commit
}

BOOST_AUTO_TEST_CASE(when_the_driver_dies_in_a_step_its_owners_take_it_all_or_none_and_its_shards_end,
                     *boost::unit_test::label("fault-F29")) {
  int in_between = 0;
  for (const std::uint64_t seed : seeds(100)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, functions());
      const TraceIfFailed show(world);
      std::vector<Parameter> parameters;
      world
          .on("keeper",
              [&](Node& node) {
                for (const char* owner : {"ps0", "ps1"})
                  parameters.push_back(node.remote(owner, &make_parameter, 1, 0.0));
                world.kill_after(world.draw(1500), "trainer",
                                 world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
                static_cast<void>(
                    node.rpc_async("trainer", &train_for_others, parameters[0], parameters[1]).get_for(60s));
              })
          .get();
      world.run_for(2s);
      BOOST_TEST(
          world.step_until([&] { return world.node("ps0").counts().shards + world.node("ps1").counts().shards == 0; }));
      const auto taken =
          world
              .on("keeper",
                  [&](Node& node) {
                    return std::vector{steps_taken(node, parameters[0]), steps_taken(node, parameters[1])};
                  })
              .get();
      BOOST_TEST(taken[0] == std::floor(taken[0]));
      BOOST_TEST(taken[0] == taken[1]);
      if (taken[0] > 0 && taken[0] < kSteps) ++in_between;
      parameters.clear();
      BOOST_TEST(world.step_until([&] { return nothing_left(world); }));
    }
  }
  BOOST_TEST(in_between > 0);
}

BOOST_AUTO_TEST_CASE(when_the_driver_and_an_owner_die_in_a_step_the_other_two_owners_do_the_same,
                     *boost::unit_test::label("fault-F29")) {
  const std::vector<NodeName> names{"trainer", "ps0", "ps1", "ps2", "keeper"};
  for (const std::uint64_t seed : seeds(100)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), names, functions().with({{"train_on_three", &train_on_three}}));
      const TraceIfFailed show(world);
      std::vector<Parameter> parameters;
      world
          .on("keeper",
              [&](Node& node) {
                for (const char* owner : {"ps0", "ps1", "ps2"})
                  parameters.push_back(node.remote(owner, &make_parameter, 1, 0.0));
                const std::uint64_t first = world.draw(1500);
                world.kill_after(first, "trainer", sim::Death::closed);
                world.kill_after(first + world.draw(100), "ps" + std::to_string(seed % 3), sim::Death::closed);
                static_cast<void>(
                    node.rpc_async("trainer", &train_on_three, parameters[0], parameters[1], parameters[2])
                        .get_for(60s));
              })
          .get();
      world.run_for(2s);
      const auto shards = [&] {
        std::size_t count = 0;
        for (const NodeName& name : names) count += world.is_alive(name) ? world.node(name).counts().shards : 0;
        return count;
      };
      BOOST_TEST(world.step_until([&] { return shards() == 0; }));
      const auto taken = world
                             .on("keeper",
                                 [&](Node& node) {
                                   std::vector<double> steps;
                                   for (std::size_t i = 0; i < 3; ++i) {
                                     if (i != seed % 3) steps.push_back(steps_taken(node, parameters[i]));
                                   }
                                   return steps;
                                 })
                             .get();
      BOOST_TEST(taken[0] == std::floor(taken[0]));
      BOOST_TEST(taken[0] == taken[1]);
    }
  }
}

BOOST_AUTO_TEST_CASE(step_with_a_short_deadline_has_an_outcome_behind_its_caller,
                     *boost::unit_test::label("fault-F29")) {
  int unknown = 0;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, functions());
      const TraceIfFailed show(world);
      unknown += world
                     .on("trainer",
                         [&](Node& node) {
                           const Parameter w0 = node.remote("ps0", &make_parameter, 1, 0.0);
                           const Parameter w1 = node.remote("ps1", &make_parameter, 1, 0.0);
                           const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 1.0}, {w0, w1});
                           int applied = 0;
                           int late = 0;
                           for (int step = 0; step < kSteps; ++step) {
                             const Variable x(full({1}, 0.5), RequiresGrad::yes);
                             DistContext context(node);
                             backward(context, sum(add(context.rpc_sync("ps0", &scale, x, w0),
                                                       context.rpc_sync("ps1", &scale, x, w1))));
                             const Duration begin = world.now();
                             const auto limit = std::chrono::milliseconds(1 + world.draw(20));
                             try {
                               optimizer.step(context.with({.deadline = limit}));
                               ++applied;
                             } catch (const StepUnknown& error) {
                               BOOST_TEST((world.now() - begin < limit + 1ms));
                               const StepOutcome outcome = optimizer.outcome(error.step()).get();
                               BOOST_TEST((outcome.applied.size() == 2U && outcome.lost.empty()));
                               ++applied;
                               ++late;
                             } catch (const RemoteError& error) {
                               BOOST_TEST((error.code() == ErrorCode::step_not_applied));
                             }
                           }
                           BOOST_TEST(steps_taken(node, w0) == applied);
                           BOOST_TEST(steps_taken(node, w1) == applied);
                           return late;
                         })
                     .get();
      BOOST_TEST(world.step_until([&] { return nothing_left(world); }));
    }
  }
  BOOST_TEST(unknown > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
