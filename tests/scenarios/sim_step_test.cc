#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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

Account train(Node& node, const Stepping& stepping = StepMode::atomic) {
  Account account;
  const Parameter w0 = node.remote("ps0", &make_parameter, 1, 0.0);
  const Parameter w1 = node.remote("ps1", &make_parameter, 1, 0.0);
  try {
    const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 1.0}, {w0, w1}, stepping);
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

}  // namespace

/// What a change of three owners does: "trainer", who drives it, "ps0" and "ps1".
enum class Change : std::uint8_t {
  step,
  overlapped_step,  ///< from before the pass, during which the owners compute the updates
  load,
};

/// A change in which a node dies.
struct Fall {
  NodeName victim = {};     ///< empty: nobody
  std::uint64_t index = 0;  ///< it dies after so many steps of the world since the change began
  sim::Death death = sim::Death::closed;
  Change change = Change::step;
  Stepping stepping = StepMode::atomic;
};

struct Ending {
  std::optional<Error> told;         ///< what the driver was told, if it lives and the change failed
  std::uint64_t length = 0;          ///< of the change, in steps of the world; 0: the driver died
  std::map<NodeName, double> taken;  ///< steps that the parameter of each living node has taken
  bool leaves_nothing = false;
};

/// After one step on all owners, a second one, or a loaded state in which the values have taken two.
Ending change_of_three(const Fall& fall) {
  Ending ending;
  const std::vector<NodeName> names{"trainer", "ps0", "ps1"};
  sim::World world({.seed = fall.index + 1}, names, functions());
  const TraceIfFailed show(world);
  for (const NodeName& name : names)
    world.on(name, [](Node& node) { static_cast<void>(node.publish("w", make_parameter(1, 0.0))); }).get();
  BOOST_TEST(world.run());
  std::map<NodeName, detail::NodeCounts> before;
  for (const NodeName& name : names) before[name] = world.node(name).counts();
  const Future<void> program = world.on("trainer", [&](Node& node) {
    std::vector<Parameter> parameters;
    for (const NodeName& name : names) parameters.push_back(node.find<Variable>(name, "w"));
    DistOptimizer optimizer(node, optim::SgdOptions{.lr = 1.0}, parameters, fall.stepping);
    {
      const DistContext context(node);
      backward_through(context, parameters);
      optimizer.step(context);
    }
    NamedTensors state = optimizer.state_dict(node, StateContent::rules_and_values);
    for (auto& [name, tensor] : state) {
      if (name.ends_with(".value")) tensor = full({1}, -1.0);
    }
    const DistContext context(node);
    if (fall.change == Change::step) backward_through(context, parameters);
    if (!fall.victim.empty()) world.kill_after(fall.index, fall.victim, fall.death);
    const std::uint64_t begin = world.counts().steps;
    try {
      if (fall.change == Change::overlapped_step) {
        optimizer.overlap(context);
        backward_through(context, parameters);
      }
      fall.change == Change::load ? optimizer.load_state_dict(node, state) : optimizer.step(context);
    } catch (const RemoteError& error) {
      ending.told = error.error();
    }
    ending.length = world.counts().steps - begin;
  });
  BOOST_TEST(program.get_for(120s).has_value());
  world.run_for(fall.death == sim::Death::silent ? 13s : 2s);
  ending.leaves_nothing = world.step_until([&] {
    return std::ranges::all_of(names, [&](const NodeName& name) {
      return !world.is_alive(name) || world.node(name).counts() == before.at(name);
    });
  });
  for (const NodeName& name : names) {
    if (!world.is_alive(name)) continue;
    const auto value = [&](Node& node) {
      return static_cast<double>(node.find<Variable>(name, "w").local_value(node)->value().item<float>());
    };
    ending.taken[name] = world.on(name, value).get() / -0.5;
  }
  return ending;
}

/// Returns the distance of the indices at which a node dies: 1 in a long run. An overlapped step has four times the
/// messages.
std::uint64_t stride_of(Change change, sim::Death death) {
  if (is_long_run()) return 1;
  return (change == Change::overlapped_step ? 3 : 1) * (death == sim::Death::silent ? 5 : 1);
}

BOOST_AUTO_TEST_CASE(whoever_dies_at_any_index_of_a_change_the_living_owners_take_it_all_or_none,
                     *boost::unit_test::label("fault-F29")) {
  for (const Change change : {Change::step, Change::overlapped_step, Change::load}) {
    const Ending whole = change_of_three({.change = change});
    BOOST_TEST_REQUIRE(whole.length > 10U);
    std::map<double, int> ends;
    std::map<std::optional<ErrorCode>, int> told;
    for (const NodeName victim : {"trainer", "ps0", "ps1"}) {
      for (const sim::Death death : {sim::Death::closed, sim::Death::silent}) {
        const std::uint64_t stride = stride_of(change, death);
        const std::uint64_t first = (victim == "ps0" ? 1U : victim == "ps1" ? 2U : 0U) % stride;
        for (std::uint64_t index = first; index <= whole.length + 10; index += stride) {
          BOOST_TEST_CONTEXT(victim << " dies at " << index << (death == sim::Death::closed ? "" : ", silently")
                                    << (change == Change::load              ? ", load"
                                        : change == Change::overlapped_step ? ", overlapped"
                                                                            : "")) {
            const Ending ending = change_of_three({victim, index, death, change});
            BOOST_TEST(ending.leaves_nothing);
            BOOST_TEST(ending.taken.size() == 2U);
            const double taken = ending.taken.begin()->second;
            BOOST_TEST((taken == 1.0 || taken == 2.0));
            for (const auto& [name, its] : ending.taken) BOOST_TEST(its == taken, name << " differs");
            ++ends[taken];
            if (victim == "trainer") continue;
            ++told[ending.told ? std::optional(ending.told->code) : std::nullopt];
            if (ending.told) BOOST_TEST(ending.told->peer == victim, ending.told->text());
            const bool applied = !ending.told || ending.told->code == ErrorCode::step_unknown;
            BOOST_TEST(taken == (applied ? 2.0 : 1.0));
          }
        }
      }
    }
    BOOST_TEST(ends[1.0] > 0);
    BOOST_TEST(ends[2.0] > 0);
    BOOST_TEST(told[std::nullopt] > 0);
    BOOST_TEST(told[ErrorCode::step_not_applied] + told[ErrorCode::context_aborted] > 0);
    BOOST_TEST(told[ErrorCode::step_unknown] > 0);
  }
}

BOOST_AUTO_TEST_CASE(whoever_dies_at_any_index_of_a_step_on_each_owner_alone_no_value_is_torn_and_nothing_is_left,
                     *boost::unit_test::label("fault-F29")) {
  for (const Stepping& stepping : {Stepping(StepMode::hogwild), Stepping(StepMode::bounded_staleness)}) {
    const Ending whole = change_of_three({.stepping = stepping});
    BOOST_TEST_REQUIRE(whole.length > 10U);
    BOOST_TEST((whole.taken == std::map<NodeName, double>{{"ps0", 2.0}, {"ps1", 2.0}, {"trainer", 2.0}}));
    std::map<double, int> ends;
    for (const NodeName victim : {"trainer", "ps0", "ps1"}) {
      for (std::uint64_t index = 0; index <= whole.length; index += 2) {
        BOOST_TEST_CONTEXT(victim << " dies at " << index) {
          const Ending ending = change_of_three({.victim = victim, .index = index, .stepping = stepping});
          BOOST_TEST(ending.leaves_nothing);
          BOOST_TEST(ending.taken.size() == 2U);
          BOOST_TEST(!ending.taken.contains(victim));
          for (const auto& [name, taken] : ending.taken) {
            BOOST_TEST((taken == 1.0 || taken == 2.0), name);
            ++ends[taken];
          }
          if (victim != "trainer" && ending.told) BOOST_TEST(ending.told->peer == victim, ending.told->text());
        }
      }
    }
    BOOST_TEST(ends[1.0] > 0);
    BOOST_TEST(ends[2.0] > 0);
  }
}

BOOST_AUTO_TEST_CASE(trainers_go_on_when_the_slowest_dies_and_are_never_further_apart,
                     *boost::unit_test::label("fault-F29")) {
  const std::vector<NodeName> names{"trainer", "b", "slow", "ps0", "ps1"};
  for (const std::uint64_t seed : seeds(40)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), names, functions());
      const TraceIfFailed show(world);
      const auto taken = world
                             .on("trainer",
                                 [&](Node& node) {
                                   const Parameter w0 = node.remote("ps0", &make_parameter, 1, 0.0);
                                   const Parameter w1 = node.remote("ps1", &make_parameter, 1, 0.0);
                                   const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 1.0}, {w0, w1},
                                                                 {StepMode::bounded_staleness, 1});
                                   const auto slow = node.remote("slow", &make_trainer, optimizer.share());
                                   const auto b = node.remote("b", &make_trainer, optimizer.share());
                                   slow.created(node).get();
                                   b.created(node).get();
                                   const Future<void> of_b = node.rpc_async("b", &take_steps, b, w0, w1, kSteps);
                                   // b is 2 steps ahead of a trainer that takes none, and waits.
                                   BOOST_TEST(!of_b.get_for(5s).has_value());
                                   BOOST_TEST(steps_taken(node, w0) == 2.0);
                                   BOOST_TEST(steps_taken(node, w1) == 2.0);
                                   world.kill("slow", world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
                                   of_b.get();
                                   return std::pair(steps_taken(node, w0), steps_taken(node, w1));
                                 })
                             .get();
      BOOST_TEST(taken.first == kSteps);
      BOOST_TEST(taken.second == kSteps);
      world.run_for(2s);
      BOOST_TEST(
          world.step_until([&] { return world.node("ps0").counts().shards + world.node("ps1").counts().shards == 0; }));
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_over_bad_links_are_each_applied_once, *boost::unit_test::label("fault-F03")) {
  const std::vector<Stepping> modes{StepMode::atomic, StepMode::hogwild, StepMode::bounded_staleness};
  FaultsSeen seen;
  for (const std::uint64_t seed : seeds(60)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, functions());
      const TraceIfFailed show(world);
      const Account account =
          world.on("trainer", [&](Node& node) { return train(node, modes[seed % modes.size()]); }).get();
      BOOST_TEST(account.applied == kSteps);
      BOOST_TEST(account.taken_by_ps0 == kSteps);
      BOOST_TEST((account.taken_by_ps1 == kSteps));
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
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
      const Future<Account> program = world.on("trainer", [](Node& node) { return train(node); });
      world.kill_after(world.draw(1500), "ps1", world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
      const Account account = program.get();
      // A step whose outcome on ps1 is unknown was applied on all other nodes.
      BOOST_TEST(account.taken_by_ps0 == account.applied + account.unknown);
      all.applied += account.applied;
      all.not_applied += account.not_applied;
      all.unknown += account.unknown;
      world.run_for(2s);
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
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
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
  BOOST_TEST(in_between > 0);
}

BOOST_AUTO_TEST_CASE(when_the_driver_and_an_owner_die_in_a_step_the_other_two_owners_do_the_same,
                     *boost::unit_test::label("fault-F29")) {
  const std::vector<NodeName> names{"trainer", "ps0", "ps1", "ps2", "keeper"};
  FaultsSeen seen;
  int in_between = 0;
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
      if (taken[0] > 0 && taken[0] < kSteps) ++in_between;
      parameters.clear();
      BOOST_TEST(world.step_until([&] { return nothing_left(world, names); }));
      seen.add(world.counts());
    }
  }
  BOOST_TEST(seen.sum.killed > 100U);  // both nodes in most worlds
  BOOST_TEST(in_between > 0);
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
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
  BOOST_TEST(unknown > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
