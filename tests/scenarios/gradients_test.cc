#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>

#include "node/local_cluster.h"
#include "tests/scenarios/graph_shapes.h"
#include "tests/scenarios/random_delays.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(gradients_over_nodes)

namespace {

using namespace std::chrono_literals;

const Places kApart{"trainer", "ps0", "ps1"};
const Places kSingle{"trainer", "trainer", "trainer"};
const Places kPlain{"", "", ""};

void check_same_bits(const NamedGradients& got, const NamedGradients& expected) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (const auto& [name, gradient] : expected) {
    BOOST_REQUIRE(got.contains(name));
    BOOST_CHECK_MESSAGE(same_bytes(got.at(name), gradient), "the gradient of " << name << " differs");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(equal_those_with_all_names_on_one_node_bit_for_bit_under_twenty_seeds_of_delays,
                     *boost::unit_test::label("B-09")) {
  LocalCluster one({"trainer"}, graph_functions());
  std::map<std::string, NamedGradients> expected;
  for (const GraphShape& shape : graph_shapes()) expected[shape.name] = shape.run(one.node("trainer"), kSingle);

  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LocalCluster cluster({"trainer", "ps0", "ps1"}, graph_functions(), random_delays(seed, 1000us));
    for (const GraphShape& shape : graph_shapes()) {
      BOOST_TEST_CONTEXT(shape.name << ", seed " << seed) {
        check_same_bits(shape.run(cluster.node("trainer"), kApart), expected[shape.name]);
      }
    }
  }
}

// Sums of three or more contributions are grouped by call, so their grouping differs from that without calls.
BOOST_AUTO_TEST_CASE(equal_those_of_plain_functions_up_to_the_grouping_of_sums) {
  LocalCluster cluster({"trainer", "ps0", "ps1"}, graph_functions());
  for (const GraphShape& shape : graph_shapes()) {
    BOOST_TEST_CONTEXT(shape.name) {
      const NamedGradients expected = shape.run(cluster.node("trainer"), kPlain);
      const NamedGradients got = shape.run(cluster.node("trainer"), kApart);
      BOOST_REQUIRE_EQUAL(got.size(), expected.size());
      for (const auto& [name, gradient] : expected) BOOST_TEST(allclose(got.at(name), gradient, 1e-6, 1e-6));
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_those_of_plain_functions_bit_for_bit_where_no_variable_gets_more_than_two_contributions) {
  LocalCluster cluster({"trainer", "ps0", "ps1"}, graph_functions());
  for (const GraphShape& shape : graph_shapes()) {
    const std::string_view name = shape.name;
    if (name != "chain" && name != "diamond over two nodes" && name != "unused result") continue;
    BOOST_TEST_CONTEXT(shape.name) {
      check_same_bits(shape.run(cluster.node("trainer"), kApart), shape.run(cluster.node("trainer"), kPlain));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
