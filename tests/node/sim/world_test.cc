#include "node/sim/world.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/function_registry.h"
#include "actors/scope.h"
#include "node/node.h"
#include "tests/support/expect_throw.h"

namespace troupe::sim {
BOOST_AUTO_TEST_SUITE(world)

namespace {

using namespace std::chrono_literals;

std::int64_t square(std::int64_t x) { return x * x; }

std::int64_t wait_and_answer(Scope& scope, std::int64_t ms) {
  detail::WaitPoint never;
  static_cast<void>(never.wait(scope.state().node->clock().now() + std::chrono::milliseconds(ms)));
  return ms;
}

const FunctionRegistry& functions() {
  static const FunctionRegistry registry{{"square", &square}, {"wait_and_answer", &wait_and_answer}};
  return registry;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_function_may_not_run_the_world_nor_a_destructor_of_one_that_is_unwound) {
  World world({.seed = 11}, {"a", "b", "c"}, functions());
  const auto refused = [&](const char* operation, const auto& run) {
    testing::expect_throw<std::logic_error>(run, std::string("[World] ") + operation +
                                                     " is called in a function: the world runs already; wait on a "
                                                     "future instead");
  };
  struct Runner {
    World& world;
    bool& was_refused;
    ~Runner() {
      world.kill("c");
      try {
        world.run_for(1ms);
      } catch (const std::logic_error&) {
        was_refused = true;
      }
    }
  };
  bool was_refused = false;
  const Future<std::int64_t> program = world.on("a", [&](Node& node) {
    const Runner at_the_end{world, was_refused};
    refused("run_for", [&] { world.run_for(1ms); });
    refused("run", [&] { world.run(); });
    refused("step_until", [&] { world.step_until([] { return true; }); });
    world.kill("a");
    return node.rpc_sync("b", &square, 2);
  });
  BOOST_TEST(program.get_for(1s)->error().text() == "on on a: peer_down: the node was killed");
  BOOST_TEST(was_refused);
  BOOST_TEST(world.run());
  BOOST_TEST(!world.is_alive("a"));
  BOOST_TEST(!world.is_alive("c"));
  BOOST_TEST(world.is_alive("b"));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_killed_while_it_stops_ends_at_once) {
  for (const bool shuts_down : {false, true}) {
    World world({.seed = 12}, {"a", "b"}, functions());
    bool went_on = false;
    const Future<std::int64_t> answer =
        world.on("b", [](Node& node) { return node.rpc_sync("a", &wait_and_answer, 3'600'000); });
    world.run_for(50ms);
    static_cast<void>(world.on("a", [&](Node& node) {
      static_cast<void>(shuts_down ? node.shutdown(1h) : node.stop());
      went_on = true;
    }));
    world.run_for(50ms);
    const Duration killed = world.now();
    world.kill("a");
    BOOST_TEST((world.now() == killed));
    BOOST_TEST(!went_on);
    BOOST_TEST(world.counts().unwound == 2U);  // the program and the served function
    BOOST_TEST(world.counts().actors_left == 0U);
    BOOST_TEST(!answer.get_for(10min)->ok());
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::sim
