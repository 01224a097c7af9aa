// Clusters of many simulated nodes: what each member costs the others. TROUPE_SIM_MEMBERS=1000 sets their number.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "actors/group.h"
#include "actors/group_calls.h"
#include "node/sim/world.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(sim_many_members)

using namespace std::chrono_literals;

std::int64_t next_of(std::int64_t number) { return number + 1; }

const FunctionRegistry& functions() {
  static const FunctionRegistry registry{{"next_of", &next_of}};
  return registry;
}

std::size_t members_wanted() {
  const char* const wanted = std::getenv("TROUPE_SIM_MEMBERS");
  return wanted != nullptr ? std::stoull(wanted) : 60;
}

std::vector<NodeName> names_of(std::size_t members) {
  std::vector<NodeName> names;
  for (std::size_t i = 0; i < members; ++i) names.push_back("n" + std::to_string(i));
  return names;
}

BOOST_AUTO_TEST_CASE(all_are_in_call_meet_outlive_one_of_them_and_leave_together) {
  const std::vector<NodeName> names = names_of(members_wanted());
  sim::World world({.seed = 5}, names, functions());
  const testing::TraceIfFailed trace(world);
  BOOST_TEST((world.now() < 10s));
  std::set<std::uint32_t> ranks;
  for (const NodeName& name : names) ranks.insert(world.node(name).info().rank);
  BOOST_TEST(ranks.size() == names.size());
  BOOST_TEST(*ranks.rbegin() == names.size() - 1);

  const auto call_all = [](Node& node) {
    const auto answers = Group::of_all(node).call_all(node, &next_of, std::int64_t{41}).values;
    std::int64_t sum = 0;
    for (const auto& [name, value] : answers) sum += value;
    return sum;
  };
  const auto many = static_cast<std::int64_t>(names.size());
  BOOST_TEST(world.on(names.front(), call_all).get() == 42 * many);
  BOOST_TEST(world.on(names.back(), call_all).get() == 42 * many);

  const auto meet = [&world](const std::vector<NodeName>& those) {
    std::vector<Future<std::size_t>> met;
    for (const NodeName& name : those) {
      met.push_back(world.on(name, [&those](Node& node) { return Group(those).partial().barrier(node).size(); }));
    }
    std::size_t left_out = 0;
    for (const Future<std::size_t>& each : met) left_out += each.get();
    return left_out;
  };
  BOOST_TEST(meet(names) == 0U);

  const NodeName dead = names[names.size() / 2];
  const Duration died = world.now();
  world.kill(dead, sim::Death::silent);
  const auto call_dead = [&dead](Node& node) {
    try {
      return node.rpc_sync(dead, &next_of, std::int64_t{0});
    } catch (const RemoteError& error) {
      return error.error().code == ErrorCode::peer_down && error.error().peer == dead ? std::int64_t{-1}
                                                                                      : std::int64_t{-2};
    }
  };
  BOOST_TEST(world.on(names.front(), call_dead).get() == -1);
  BOOST_TEST((world.now() - died < 20s));  // the lease
  std::vector<NodeName> living = names;
  std::erase(living, dead);
  BOOST_TEST(meet(living) == 0U);

  const Duration left = world.now();
  std::vector<Future<std::size_t>> leaving;
  for (const NodeName& name : living) {
    leaving.push_back(world.on(name, [](Node& node) { return node.shutdown(60s).waited_for.size(); }));
  }
  for (const Future<std::size_t>& each : leaving) BOOST_TEST(each.get() == 0U);
  BOOST_TEST((world.now() - left < 20s));
  BOOST_TEST(world.counts().actors_left == 0U);
}

// Each pair costs the same, however many there are.
BOOST_AUTO_TEST_CASE(start_takes_as_many_messages_per_pair_of_many_members_as_of_few) {
  const auto messages_per_pair = [](std::size_t members) {
    const sim::World world({.seed = 6}, names_of(members), functions());
    return static_cast<double>(world.counts().sent) / static_cast<double>(members * (members - 1) / 2);
  };
  const double of_few = messages_per_pair(10);
  BOOST_TEST(of_few > 0);
  BOOST_TEST(messages_per_pair(60) < 1.25 * of_few);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
