#include "node/control/cluster_search.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_search)

ClusterView cluster(const std::string& id, const std::string& name, const std::string& problem = "") {
  return {id, name, {}, {}, problem, {}};
}

BOOST_AUTO_TEST_CASE(a_cluster_whose_launcher_does_not_answer_may_be_the_one_that_is_meant) {
  const ClusterView digits = cluster("4f2a", "digits");
  const ClusterView stopped = cluster("77b1", "77b1", "no answer within 2000 ms: its process is stopped");
  const std::string told = "77b1 (77b1, its launcher: no answer within 2000 ms: its process is stopped)";
  BOOST_TEST(nothing_found("moons", {}) == "no cluster of yours runs here");
  BOOST_TEST(nothing_found("moons", {digits}) == "no cluster \"moons\" runs here; there are: digits (4f2a)");
  BOOST_TEST(nothing_found("moons", {digits, stopped}) ==
             "no cluster \"moons\" answers here; there are: digits (4f2a), " + told);
  BOOST_TEST(nothing_found("", {stopped}) == "no cluster tells its nodes; there are: " + told);
}

BOOST_AUTO_TEST_CASE(a_whole_id_does_not_mean_the_ids_that_begin_with_it) {
  const std::vector<ClusterView> all{cluster("4f2a", "digits"), cluster("4f2ab", "moons")};
  BOOST_TEST(!find_cluster(all, "4f2", "").has_value());
  BOOST_TEST_REQUIRE(find_cluster(all, "4f2a", "").has_value());
  BOOST_TEST(find_cluster(all, "4f2a", "")->name == "digits");
  BOOST_TEST(find_cluster(all, "4f2ab", "")->name == "moons");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
