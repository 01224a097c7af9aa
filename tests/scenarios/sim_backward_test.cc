#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/exceptions.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/scenarios/graph_shapes.h"
#include "tests/scenarios/sim_seeds.h"
#include "tests/scenarios/training_functions.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_backward)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"trainer", "ps0", "ps1"};
const Places kApart{"trainer", "ps0", "ps1"};

/// Of the dead node; of a context, a value or a handle of it; of a function of another node that met one of these.
const std::set<ErrorCode> kOfDeaths{ErrorCode::peer_down, ErrorCode::context_aborted, ErrorCode::owner_died,
                                    ErrorCode::ref_revoked, ErrorCode::remote_exception};

const GraphShape& shape_of(std::uint64_t seed) { return graph_shapes()[seed % graph_shapes().size()]; }

/// Returns the gradients of every shape without faults.
std::map<std::string, NamedGradients> gradients_without_faults() {
  std::map<std::string, NamedGradients> expected;
  sim::World world({.seed = 1}, kNames, graph_functions());
  for (const GraphShape& shape : graph_shapes()) {
    expected[shape.name] = world.on("trainer", [&](Node& node) { return shape.run(node, kApart); }).get();
  }
  return expected;
}

void check_same_bits(const NamedGradients& got, const NamedGradients& expected) {
  BOOST_TEST(got.size() == expected.size());
  for (const auto& [name, gradient] : expected) {
    BOOST_TEST_REQUIRE(got.contains(name));
    BOOST_TEST(same_bytes(got.at(name), gradient), "the gradient of " << name << " differs");
  }
}

/// Returns the dead node that `name` reports for context `id`, if the context's gradients are withheld because of a
/// death.
std::optional<NodeName> culprit(sim::World& world, const NodeName& name, const ContextId& id) {
  const auto gradients = world.node(name).core().contexts().gradients(id).get_for(10s);
  if (!gradients || gradients->ok() || gradients->error().code != ErrorCode::context_aborted) return std::nullopt;
  return gradients->error().peer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_over_bad_links_equal_those_without_faults_bit_for_bit,
                     *boost::unit_test::label("B-09")) {
  const auto expected = gradients_without_faults();
  FaultsSeen seen;
  for (const std::uint64_t seed : seeds(48)) {
    const GraphShape& shape = shape_of(seed);
    BOOST_TEST_CONTEXT("seed " << seed << ", " << shape.name) {
      sim::World world(bad_network(seed), kNames, graph_functions());
      const TraceIfFailed show(world);
      check_same_bits(world.on("trainer", [&](Node& node) { return shape.run(node, kApart); }).get(),
                      expected.at(shape.name));
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
      seen.add(world.counts());
    }
  }
  seen.check_links();
}

BOOST_AUTO_TEST_CASE(a_death_in_forward_or_backward_fails_the_run_or_comes_too_late_and_leaves_nothing,
                     *boost::unit_test::label("fault-F28")) {
  const auto expected = gradients_without_faults();
  FaultsSeen seen;
  std::map<std::optional<ErrorCode>, int> ends;
  for (const std::uint64_t seed : seeds(60)) {
    const GraphShape& shape = shape_of(seed);
    BOOST_TEST_CONTEXT("seed " << seed << ", " << shape.name) {
      sim::World world(bad_network(seed), kNames, graph_functions());
      const TraceIfFailed show(world);
      const auto run = world.on("trainer", [&](Node& node) { return shape.run(node, kApart); });
      const char* victim = kNames[world.draw(kNames.size())].c_str();
      world.kill_after(world.draw(600), victim, world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
      const auto result = run.get_for(120s);
      BOOST_TEST_REQUIRE(result.has_value());
      ++ends[result->ok() ? std::nullopt : std::optional(result->error().code)];
      if (result->ok()) {
        check_same_bits(result->value(), expected.at(shape.name));
      } else {
        BOOST_TEST(kOfDeaths.contains(result->error().code), result->error().text());
        BOOST_TEST(result->error().text().find(victim) != std::string::npos, result->error().text());
      }
      world.run_for(2s);  // so that the death occurs if it has not yet
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
      seen.add(world.counts());
    }
  }
  BOOST_TEST(ends[std::nullopt] > 0);
  BOOST_TEST(ends[ErrorCode::context_aborted] > 0);
  BOOST_TEST(seen.sum.killed > 30U);
}

BOOST_AUTO_TEST_CASE(a_death_aborts_the_context_on_all_survivors_and_names_the_dead,
                     *boost::unit_test::label("fault-F28")) {
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, training_functions());
      const TraceIfFailed show(world);
      // The program waits until the world has inspected its context, and then releases it.
      const Promise<void> looked(world.node("trainer").core().future_home());
      std::optional<ContextId> id;
      const Future<void> program = world.on("trainer", [&](Node& node) {
        const Parameter w0 = node.remote("ps0", &make_parameter, 2, 2.0);
        const Parameter w1 = node.remote("ps1", &make_parameter, 2, 3.0);
        const Variable x(full({2}, 0.5), RequiresGrad::yes);
        DistContext context(node);
        const Variable y = context.rpc_sync("ps0", &scale, x, w0);
        const Variable z = context.rpc_sync("ps1", &scale, x, w1);
        world.kill_after(world.draw(150), "ps0", world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
        id = context.id();
        try {
          backward(context, sum(mul(y, z)));
        } catch (const RemoteError& error) {
          BOOST_TEST((error.code() == ErrorCode::context_aborted), error.what());
          BOOST_TEST(error.error().peer == "ps0");
        }
        looked.future().get();
      });
      BOOST_TEST(world.step_until([&] { return !world.is_alive("ps0"); }));
      world.run_for(13s);  // the death is noticed, after a lease if silent, and told to ps1 despite losses
      BOOST_TEST_REQUIRE(id.has_value());
      BOOST_TEST((culprit(world, "trainer", *id) == "ps0"));
      BOOST_TEST((culprit(world, "ps1", *id) == "ps0"));
      looked.complete(Unit{});
      program.get();
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
}

namespace {

/// What the driver of a pass saw.
struct Seen {
  std::optional<Error> error;
  bool was_over = false;  ///< the pass had ended when the victim died
};

/// One pass over trainer -> ps0 -> ps1 and trainer -> ps1, during which `victim` dies after `steps` steps.
Future<Seen> pass_with_a_death(sim::World& world, const NodeName& victim, sim::Death death, std::uint64_t steps,
                               Graph graph) {
  return world.on("trainer", [&world, victim, death, steps, graph](Node& node) {
    const Parameter w0 = node.remote("ps0", &make_parameter, 2, 2.0);
    const Parameter w1 = node.remote("ps1", &make_parameter, 2, 3.0);
    const Variable x(full({2}, 0.5), RequiresGrad::yes);
    const DistContext context(node);
    const Variable y = context.rpc_sync("ps0", &scale_at, "ps1", context.rpc_sync("ps0", &scale, x, w0), w1);
    const Variable z = context.rpc_sync("ps1", &scale, x, w1);
    world.kill_after(steps, victim, death);
    Seen seen;
    try {
      backward(context, sum(mul(y, z)), {.graph = graph});
      BOOST_TEST(same_bytes(context.grad(x), full({2}, 18.0)));  // d(2 * 3 * 3 x^2)/dx
    } catch (const RemoteError& error) {
      seen.error = error.error();
    }
    seen.was_over = world.is_alive(victim);
    return seen;
  });
}

/// A pass in which a node dies, and how many of those in a row failed.
struct Deaths {
  Graph graph = Graph::keep;
  NodeName victim;
  std::uint64_t failed = 0;

  /// Fails if the pass ends otherwise than it must. Returns whether it was over when the victim died.
  bool check(std::uint64_t steps, sim::Death death) {
    BOOST_TEST_CONTEXT(victim << " dies after " << steps << " steps"
                              << (death == sim::Death::closed ? "" : ", silently")) {
      sim::World world({.seed = 1}, kNames, training_functions());
      const TraceIfFailed show(world);
      const auto end = pass_with_a_death(world, victim, death, steps, graph).get_for(120s);
      BOOST_TEST_REQUIRE(end.has_value());
      bool was_over = false;
      if (!end->ok()) {
        BOOST_TEST(victim == "trainer");
        ++failed;
      } else {
        const Seen& seen = end->value();
        was_over = seen.was_over;
        if (seen.error) {
          ++failed;
          BOOST_TEST((seen.error->code == ErrorCode::context_aborted), seen.error->text());
          BOOST_TEST(seen.error->peer == victim);
        }
      }
      world.run_for(2s);
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
      return was_over;
    }
    return true;
  }
};

/// The two ways of the graph try the other kind of death at each index; a long run tries both.
std::vector<sim::Death> deaths_at(std::uint64_t steps, Graph graph) {
  if (is_long_run()) return {sim::Death::closed, sim::Death::silent};
  const bool is_closed = (steps % 2 == 0) == (graph == Graph::keep);
  return {is_closed ? sim::Death::closed : sim::Death::silent};
}

}  // namespace

// The victim dies after every number of steps that a pass may take: between any two messages and turns of actors.
BOOST_AUTO_TEST_CASE(a_death_at_any_step_of_a_pass_over_three_nodes_is_one_error_that_names_the_dead_and_leaves_nothing,
                     *boost::unit_test::label("fault-F28")) {
  for (const Graph graph : {Graph::keep, Graph::release}) {
    for (const NodeName& victim : kNames) {
      Deaths deaths{.graph = graph, .victim = victim};
      std::uint64_t steps = 0;
      for (bool was_over = false; !was_over; ++steps) {
        was_over = true;
        for (const sim::Death death : deaths_at(steps, graph)) was_over = deaths.check(steps, death) && was_over;
      }
      BOOST_TEST_MESSAGE(victim << ": " << deaths.failed << " passes failed within " << steps << " steps");
      BOOST_TEST(deaths.failed > 20U);
      BOOST_TEST_REQUIRE(steps < 2000U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pass_that_is_cancelled_or_late_at_any_moment_counts_nowhere_and_the_next_one_succeeds) {
  std::map<std::optional<ErrorCode>, int> ends;
  for (const std::uint64_t seed : seeds(100)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, training_functions());
      const TraceIfFailed show(world);
      world
          .on("trainer",
              [&](Node& node) {
                const Parameter w0 = node.remote("ps0", &make_parameter, 2, 2.0);
                const Parameter w1 = node.remote("ps1", &make_parameter, 2, 3.0);
                const Variable x(full({2}, 0.5), RequiresGrad::yes);
                const DistContext context(node);
                const Variable y = context.rpc_sync("ps0", &scale_at, "ps1", x, w1);
                const Variable loss = sum(mul(y, context.rpc_sync("ps0", &scale, x, w0)));
                const Duration limit = std::chrono::microseconds(world.draw(200'000));
                const bool by_deadline = seed % 2 == 0;
                const Future<void> pass =
                    by_deadline ? backward_async(context, loss, {.deadline = limit}) : backward_async(context, loss);
                std::optional<Result<Unit>> end = pass.get_for(by_deadline ? Duration(60s) : limit);
                if (!end) {
                  pass.cancel();
                  end = pass.get_for(60s);
                }
                BOOST_TEST_REQUIRE(end.has_value());
                ++ends[end->ok() ? std::nullopt : std::optional(end->error().code)];
                backward(context, loss);
                const double passes = end->ok() ? 2.0 : 1.0;
                BOOST_TEST(same_bytes(context.grad(x), full({2}, 6.0 * passes)));  // d(3 x 2 x)/dx
                BOOST_TEST(same_bytes(context.grad(w0), full({2}, 0.75 * passes)));
                BOOST_TEST(same_bytes(context.grad(w1), full({2}, 0.5 * passes)));
              })
          .get();
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
  for (const auto end :
       {std::optional<ErrorCode>(), std::optional(ErrorCode::timeout), std::optional(ErrorCode::cancelled)}) {
    BOOST_TEST(ends[end] > 5, (end ? name_of(*end) : "success") << " " << ends[end]);
  }
  BOOST_TEST(ends.size() == 3U);
}

namespace {

struct NoSuchRow : std::runtime_error {
  explicit NoSuchRow(std::int64_t r = 0) : std::runtime_error("no such row"), row(r) {}
  std::int64_t row;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(row);
  }
};

/// Is derived from no other class when it arrives.
struct LastRow final : std::runtime_error {
  explicit LastRow(std::int64_t r = 0) : std::runtime_error("the last row"), row(r) {}
  std::int64_t row;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(row);
  }
};

Variable row_7(bool is_last) {
  if (is_last) throw LastRow(7);
  throw NoSuchRow(7);
}
Variable unregistered() { throw std::runtime_error("no"); }

FunctionRegistry throwing_functions() {
  return training_functions().with({{"row_7", &row_7},
                                    {"unregistered", &unregistered},
                                    exception<NoSuchRow>("no_such_row"),
                                    exception<LastRow>("last_row")});
}

/// Returns the row of the exception of that type which `action` throws.
template <class E, class Action>
std::int64_t row_of(Action action) {
  try {
    action();
  } catch (const E& exception) {
    return exception.row;
  }
  throw std::logic_error("nothing was thrown");
}

/// Every kind of pass over `failed`, as root and as input of a pass over `loss`, with and without a deadline.
std::vector<std::function<void()>> passes_over(const DistContext& context, const RRef<Variable>& failed,
                                               const Variable& loss) {
  std::vector<std::function<void()>> passes;
  for (const Deadline deadline : {Deadline(60s), Deadline::while_peer_lives()}) {
    const Scope scope = context.with({.deadline = deadline});
    passes.emplace_back([=] { backward(scope, Root(failed)); });
    passes.emplace_back([=] { backward_async(scope, Root(failed)).get(); });
    passes.emplace_back([=] { backward(scope, Root(loss), {.inputs = {Input(failed)}}); });
    passes.emplace_back([=] { backward_async(scope, Root(loss), {.inputs = {Input(failed)}}).get(); });
  }
  return passes;
}

template <class Cluster>
void check_passes_over_failed_references(Cluster& cluster) {
  Node& node = cluster.node("trainer");
  const DistContext context(node);
  const Variable x(full({1}, 0.5), RequiresGrad::yes);
  const Variable loss = sum(mul(x, x));
  for (const char* owner : {"trainer", "ps0"}) {
    BOOST_TEST_CONTEXT("owner " << owner) {
      for (const auto& pass : passes_over(context, context.remote(owner, &row_7, false), loss))
        BOOST_TEST(row_of<NoSuchRow>(pass) == 7);
      for (const auto& pass : passes_over(context, context.remote(owner, &row_7, true), loss))
        BOOST_TEST(row_of<LastRow>(pass) == 7);
      for (const auto& pass : passes_over(context, context.remote(owner, &unregistered), loss)) {
        const Error error = error_of([&] { return pass(), 0; });
        BOOST_TEST((error.code == ErrorCode::remote_exception), error.text());
        BOOST_TEST(error.exception_type == "std::runtime_error");
      }
    }
  }
  backward(context, loss);
  BOOST_TEST(context.grad(x).template item<float>() == 1.0F);  // the failed passes count nowhere
}

}  // namespace

BOOST_AUTO_TEST_CASE(pass_over_a_failed_reference_throws_what_its_function_threw_wherever_the_reference_is) {
  sim::World world({.seed = 1}, kNames, throwing_functions());
  check_passes_over_failed_references(world);
  LocalCluster cluster(kNames, throwing_functions());
  check_passes_over_failed_references(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
