#include "tests/scenarios/sim_seeds.h"

#include <boost/test/results_collector.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>

#include "actors/core/node_core.h"

namespace troupe::testing {
namespace {

std::uint64_t failures() {
  const auto test = boost::unit_test::framework::current_test_case_id();
  const auto& results = boost::unit_test::results_collector.results(test);
  return results.p_assertions_failed.get();
}

}  // namespace

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("TROUPE_SIM_SEED")) return {std::stoull(one)};
  if (const char* other = std::getenv("TROUPE_SIM_SEEDS")) count = std::stoull(other);
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  return all;
}

bool is_long_run() { return std::getenv("TROUPE_SIM_SEEDS") != nullptr; }

TraceIfFailed::TraceIfFailed(const sim::World& world) : world_(world), failures_before_(failures()) {}

TraceIfFailed::~TraceIfFailed() {
  if (failures() > failures_before_ || std::uncaught_exceptions() > 0) std::cerr << world_.trace_text(200);
}

bool nothing_left(sim::World& world, std::span<const NodeName> names) {
  for (const NodeName& name : names) {
    if (!world.is_alive(name)) continue;
    const detail::NodeCounts counts = world.node(name).counts();
    if (counts.shards + counts.contexts + counts.owned_values + counts.handles + counts.pending_requests +
            counts.waiting_calls >
        0)
      return false;
  }
  return true;
}

void cut_both_ways(sim::World& world, const NodeName& one, const NodeName& other) {
  world.cut(one, other);
  world.cut(other, one);
}

void heal_both_ways(sim::World& world, const NodeName& one, const NodeName& other) {
  world.heal(one, other);
  world.heal(other, one);
}

void FaultsSeen::add(const sim::WorldCounts& counts) {
  BOOST_TEST(counts.actors_left == 0U);
  sum.steps += counts.steps;
  sum.sent += counts.sent;
  sum.dropped += counts.dropped;
  sum.duplicated += counts.duplicated;
  sum.reordered += counts.reordered;
  sum.lost += counts.lost;
  sum.killed += counts.killed;
  sum.unwound += counts.unwound;
}

void FaultsSeen::check_links() const {
  BOOST_TEST(sum.dropped > 0U);
  BOOST_TEST(sum.duplicated > 0U);
  BOOST_TEST(sum.reordered > 0U);
  BOOST_TEST_MESSAGE(sum.steps << " steps, " << sum.sent << " messages, " << sum.dropped << " dropped, " << sum.lost
                               << " lost, " << sum.unwound << " functions unwound");
}

sim::WorldOptions bad_network(std::uint64_t seed) {
  const bool worse = seed % 10 == 0;
  return {.seed = seed,
          .link = {.drop = worse ? 0.15 : 0.1,
                   .duplicate = 0.1,
                   .reorder = 0.25,
                   .delay_mean = worse ? std::chrono::milliseconds(20) : std::chrono::milliseconds(2)}};
}

}  // namespace troupe::testing
