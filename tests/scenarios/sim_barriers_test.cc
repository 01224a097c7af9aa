// Barriers of simulated nodes of which one dies.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/group.h"
#include "node/sim/world.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(sim_barriers)

/// Gathers `round` from all living members. Returns "b=2 c=2 ", or the code and the peer of the error.
std::string gather(Node& node, int round) {
  std::string text;
  try {
    const auto gathered =
        Group({"a", "b", "c"}).partial().all_gather(node.with({.deadline = std::chrono::seconds(60)}), round);
    for (const auto& [name, value] : gathered.values) text += name + "=" + std::to_string(value) + " ";
  } catch (const RemoteError& error) {
    text = std::string(name_of(error.error().code)) + " " + error.error().peer;
  }
  return text;
}

// The leader's answer reaches b and not c.
BOOST_AUTO_TEST_CASE(rounds_do_not_mix_when_the_leader_dies_with_only_some_members_answered) {
  sim::World world({.seed = 3}, {"a", "b", "c"}, {});
  std::vector<std::string> of_b;
  std::vector<std::string> of_c;
  const auto program = [](std::vector<std::string>& rounds) {
    return [&rounds](Node& node) {
      for (const int round : {1, 2, 3}) rounds.push_back(gather(node, round));
    };
  };
  world.cut("a", "c");
  const Future<void> at_b = world.on("b", program(of_b));
  const Future<void> at_c = world.on("c", program(of_c));
  const Future<std::string> at_a = world.on("a", [](Node& node) { return gather(node, 1); });
  BOOST_TEST_REQUIRE(world.step_until([&] { return !of_b.empty(); }));
  BOOST_TEST(of_c.empty());
  world.kill("a");
  at_b.get();
  at_c.get();
  BOOST_TEST(of_b == (std::vector<std::string>{"a=1 b=1 c=1 ", "b=2 c=2 ", "b=3 c=3 "}),
             boost::test_tools::per_element());
  BOOST_TEST(of_c == (std::vector<std::string>{"peer_down a", "b=2 c=2 ", "b=3 c=3 "}),
             boost::test_tools::per_element());
}

// The leader's answer reaches one of the others, which enters nothing more.
BOOST_AUTO_TEST_CASE(nobody_waits_for_a_member_that_has_passed_with_a_leader_that_did_not_answer_all) {
  for (const std::string answered : {"b", "c"}) {
    const std::string unanswered = answered == "b" ? "c" : "b";
    sim::World world({.seed = 3}, {"a", "b", "c"}, {});
    world.cut("a", unanswered);
    const Future<std::string> passed = world.on(answered, [](Node& node) { return gather(node, 1); });
    const Future<std::string> at_a = world.on("a", [](Node& node) { return gather(node, 1); });
    const Future<std::string> late = world.on(unanswered, [](Node& node) { return gather(node, 1); });
    BOOST_TEST(passed.get() == "a=1 b=1 c=1 ");
    BOOST_TEST(!late.ready());
    world.kill("a");
    BOOST_TEST(late.get() == "peer_down a", answered);
    BOOST_TEST((world.now() < std::chrono::seconds(30)));
  }
}

// c has its answer and b has none. b learns of the leader's death after c has entered once more, at b, and given up.
BOOST_AUTO_TEST_CASE(nobody_waits_for_a_member_that_has_passed_and_gives_its_next_entry_up) {
  sim::World world({.seed = 3}, {"a", "b", "c"}, {});
  world.cut("a", "b");
  std::stop_source stop;
  int passed = 0;
  const Future<void> at_c = world.on("c", [&](Node& node) {
    const auto all = Group({"a", "b", "c"}).partial();
    const auto state = std::make_shared<detail::ScopeState>(node.with({.deadline = std::chrono::seconds(60)}).state());
    state->stop = stop.get_token();
    const Scope scope(state);
    passed += static_cast<int>(all.all_gather(scope, 1).values.size());
    BOOST_CHECK_THROW(static_cast<void>(all.all_gather(scope, 2)), RemoteError);
  });
  const Future<std::string> at_a = world.on("a", [](Node& node) { return gather(node, 1); });
  const Future<std::string> late = world.on("b", [](Node& node) { return gather(node, 1); });
  BOOST_TEST_REQUIRE(world.step_until([&] { return passed == 3; }));
  world.kill("a");
  BOOST_TEST_REQUIRE(world.step_until([&] { return !world.node("c").state().node->is_up("a"); }));
  world.run_for(std::chrono::milliseconds(10));
  BOOST_TEST(!late.ready());
  stop.request_stop();
  at_c.get();
  BOOST_TEST(late.get() == "peer_down a");
  BOOST_TEST((world.now() < std::chrono::seconds(30)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
