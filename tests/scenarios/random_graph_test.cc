// Random programs over one to eight nodes with delays and losses: their gradients are those of the same programs with
// all names on one node. TROUPE_GRAPH_SEED selects one program, TROUPE_GRAPH_SEEDS sets the number of programs.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tensor/ops.h"
#include "tests/scenarios/random_graph.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(random_graphs)

namespace {

constexpr std::uint64_t kPerWorld = 25;

struct Range {
  std::uint64_t first = 1;
  std::uint64_t last = 250;
};

Range seeds_asked_for() {
  if (const char* one = std::getenv("TROUPE_GRAPH_SEED")) return {std::stoull(one), std::stoull(one)};
  const char* count = std::getenv("TROUPE_GRAPH_SEEDS");
  return count != nullptr ? Range{1, std::stoull(count)} : Range{};
}

std::vector<NodeName> names(std::size_t count) {
  std::vector<NodeName> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("n" + std::to_string(i));
  return all;
}

GraphScript script_of(std::uint64_t seed, std::vector<NodeName> places) {
  return {seed, 7, 2, seed % 2 == 0 ? DType::f32 : DType::f64, std::move(places)};
}

GraphOutcome run(sim::World& world, std::uint64_t seed, const std::vector<NodeName>& places) {
  return world.on("n0", [&](Node& node) { return run_graph(node, script_of(seed, places)); }).get();
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_equal_those_with_all_names_on_one_node_bit_for_bit) {
  const Range range = seeds_asked_for();
  StatementCounts counts;
  FaultsSeen seen;
  for (std::uint64_t first = range.first; first <= range.last; first += kPerWorld) {
    const std::uint64_t last = std::min(range.last, first + kPerWorld - 1);
    const std::size_t nodes = 1 + first / kPerWorld % 8;
    std::map<std::uint64_t, GraphOutcome> expected;
    {
      sim::World one({.seed = 1}, names(1), random_graph_functions());
      for (std::uint64_t seed = first; seed <= last; ++seed)
        expected[seed] = run(one, seed, std::vector<NodeName>(nodes, "n0"));
    }
    sim::World world(bad_network(first), names(nodes), random_graph_functions());
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      BOOST_TEST_CONTEXT("seed " << seed << " over " << nodes << " nodes") {
        const GraphOutcome got = run(world, seed, names(nodes));
        const GraphOutcome& want = expected.at(seed);
        BOOST_TEST(got.gradients.size() == want.gradients.size());
        for (const auto& [leaf, gradient] : want.gradients) {
          BOOST_TEST_REQUIRE(got.gradients.contains(leaf));
          BOOST_TEST(same_bytes(got.gradients.at(leaf), gradient), "the gradient of " << leaf << " differs");
        }
        for (const auto& [what, times] : got.counts) counts[what] += times;
      }
    }
    seen.add(world.counts());
  }
  for (const auto& [what, times] : counts) BOOST_TEST_MESSAGE(what << " " << times);
  if (range.last < 250) return;
  // Each kind of statement must have occurred.
  for (const char* what :
       {"tanh", "add", "mul", "scale", "fetch", "at the owner", "call", "later call", "remote", "nested context",
        "root", "root with gradient", "remote root", "remote root with gradient", "inputs", "release"}) {
    BOOST_TEST(counts[what] > 10, what);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
