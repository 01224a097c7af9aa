// Random programs over one to eight nodes with delays and losses: their gradients are those of the same programs with
// all names on one node, bit for bit, and close to those without replicas and splits. TROUPE_GRAPH_SEED selects one
// program, TROUPE_GRAPH_SEEDS sets the number of programs.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
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

/// Where a program runs, and with whom.
struct Setting {
  std::size_t nodes = 1;    ///< of the world
  std::size_t members = 0;  ///< the first nodes are a group, each with a program of its own; 0: one program alone
  bool is_spread = true;    ///< names are on all nodes, else on the node of the program
  bool is_split = true;     ///< pipelines split and recompute, and a group has replicas
};

/// Returns the outcome of each program.
std::vector<GraphOutcome> run(sim::World& world, std::uint64_t seed, const Setting& setting) {
  std::vector<Future<GraphOutcome>> programs;
  for (std::size_t rank = 0; rank < std::max<std::size_t>(setting.members, 1); ++rank) {
    std::vector<NodeName> places = names(setting.nodes);
    std::ranges::rotate(places, places.begin() + static_cast<std::ptrdiff_t>(rank));
    const NodeName own = places.front();
    if (!setting.is_spread) places.assign(setting.nodes, own);
    const GraphGroup group{setting.is_split ? names(setting.members) : std::vector<NodeName>(), rank, setting.is_split};
    programs.push_back(world.on(
        own, [script = script_of(seed, places), group](Node& node) { return run_graph(node, script, group); }));
  }
  std::vector<GraphOutcome> outcomes;
  for (const auto& program : programs) outcomes.push_back(program.get());
  return outcomes;
}

void check_same_bits(const GraphOutcome& got, const GraphOutcome& want) {
  BOOST_TEST(got.gradients.size() == want.gradients.size());
  for (const auto& [leaf, gradient] : want.gradients) {
    BOOST_TEST_REQUIRE(got.gradients.contains(leaf));
    BOOST_TEST(same_bytes(got.gradients.at(leaf), gradient), "the gradient of " << leaf << " differs");
  }
}

/// Replaces the gradients of the parallel layer by their means over all programs.
void reduce(std::vector<GraphOutcome>& outcomes) {
  std::map<std::string, Tensor> means;
  for (const GraphOutcome& outcome : outcomes) {
    for (const auto& [leaf, gradient] : outcome.gradients) {
      if (!leaf.starts_with("parallel")) continue;
      const Tensor part = gradient * (1.0 / static_cast<double>(outcomes.size()));
      means[leaf] = means.contains(leaf) ? means.at(leaf) + part : part;
    }
  }
  for (GraphOutcome& outcome : outcomes) {
    for (const auto& [leaf, mean] : means) outcome.gradients[leaf] = mean;
  }
}

void check_close(const GraphOutcome& got, const GraphOutcome& want) {
  BOOST_TEST(got.gradients.size() == want.gradients.size());
  for (const auto& [leaf, gradient] : want.gradients) {
    BOOST_TEST_REQUIRE(got.gradients.contains(leaf));
    BOOST_TEST(allclose(got.gradients.at(leaf), gradient, 1e-5, 1e-7),
               "the gradient of " << leaf << " is not that of the unsplit program");
  }
}

/// Fails if programs have left calls, references, contexts or shards on any node.
void check_ended(sim::World& world, const std::vector<NodeName>& nodes) {
  BOOST_TEST(world.step_until([&] { return nothing_left(world, nodes); }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_equal_those_with_all_names_on_one_node_bit_for_bit) {
  const Range range = seeds_asked_for();
  StatementCounts counts;
  FaultsSeen seen;
  for (std::uint64_t first = range.first; first <= range.last; first += kPerWorld) {
    const std::uint64_t last = std::min(range.last, first + kPerWorld - 1);
    const std::size_t nodes = 1 + first / kPerWorld % 8;
    const auto setting_of = [&](std::uint64_t seed) {
      return Setting{.nodes = nodes, .members = seed % 3 == 0 ? std::min<std::size_t>(1 + seed % 4, nodes) : 0};
    };
    std::map<std::uint64_t, std::vector<GraphOutcome>> expected;
    {
      sim::World calm({.seed = 1}, names(nodes), random_graph_functions());
      for (std::uint64_t seed = first; seed <= last; ++seed) {
        Setting setting = setting_of(seed);
        setting.is_spread = false;
        expected[seed] = run(calm, seed, setting);
        setting.is_split = false;
        std::vector<GraphOutcome> whole = run(calm, seed, setting);
        reduce(whole);
        BOOST_TEST_CONTEXT("seed " << seed) {
          for (std::size_t i = 0; i < whole.size(); ++i) check_close(expected[seed][i], whole[i]);
        }
      }
      check_ended(calm, names(nodes));
    }
    sim::World world(bad_network(first), names(nodes), random_graph_functions());
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      BOOST_TEST_CONTEXT("seed " << seed << " over " << nodes << " nodes") {
        const std::vector<GraphOutcome> got = run(world, seed, setting_of(seed));
        for (std::size_t i = 0; i < got.size(); ++i) {
          check_same_bits(got[i], expected.at(seed)[i]);
          for (const auto& [what, times] : got[i].counts) counts[what] += times;
        }
        if (got.size() > 1) ++counts["group"];
      }
    }
    check_ended(world, names(nodes));
    seen.add(world.counts());
  }
  for (const auto& [what, times] : counts) BOOST_TEST_MESSAGE(what << " " << times);
  if (range.last < Range().last) return;
  seen.check_links();
  // Each kind of statement must have occurred.
  for (const char* what : {"tanh",
                           "add",
                           "mul",
                           "scale",
                           "fetch",
                           "at the owner",
                           "call",
                           "later call",
                           "remote",
                           "nested context",
                           "remote module",
                           "parallel layer",
                           "pipeline",
                           "pipeline with a remote result",
                           "pipeline with a loss",
                           "pipeline of replicas",
                           "pipeline that fills and drains",
                           "pipeline that recomputes",
                           "pipeline that recomputes all but the last",
                           "group",
                           "root",
                           "root with gradient",
                           "remote root",
                           "remote root with gradient",
                           "inputs",
                           "release"}) {
    BOOST_TEST(counts[what] > 10, what);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
