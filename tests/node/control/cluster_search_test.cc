#include "node/control/cluster_search.h"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "node/control/control_listener.h"
#include "node/control/report_json.h"
#include "tests/support/fresh_control_name.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

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

// The nodes of host a are silent until all of host b have been asked.
BOOST_AUTO_TEST_CASE(a_host_that_is_silent_hides_no_node_of_another) {
  const ControlName name = testing::fresh_control_name("");
  LaunchReport launched{"silent", "/silent.toml", 1s, {}};
  for (int i = 0; i < 8; ++i) launched.nodes.push_back({"a" + std::to_string(i), 1, "", "a"});
  for (int i = 0; i < 12; ++i) launched.nodes.push_back({"b" + std::to_string(i), 1, "", "b"});
  std::size_t asked_of_b = 0;
  std::vector<std::uint64_t> silent;
  ControlListener launcher(name, [&](std::string_view question, std::uint64_t id) -> std::optional<std::string> {
    if (question == "nodes") return json_of(launched);
    if (question.starts_with("ask b")) {
      ++asked_of_b;
    } else if (asked_of_b < 12) {
      silent.push_back(id);
      return std::nullopt;
    }
    return json_of(NodeReport{});
  });
  std::vector<ClusterView> seen;
  std::atomic<bool> done = false;
  {
    const std::jthread asker([&] {
      seen = ask_around({name}, Nodes::yes, 20s);
      done = true;
    });
    while (!done) {
      std::vector<pollfd> polled;
      launcher.add_polled(polled);
      static_cast<void>(::poll(polled.data(), polled.size(), 10));
      launcher.work(ControlListener::Time::clock::now());
      if (asked_of_b < 12) continue;
      for (const std::uint64_t id : silent) launcher.take_answer(id, json_of(NodeReport{}));
      silent.clear();
    }
  }
  BOOST_TEST_REQUIRE(seen.size() == 1U);
  BOOST_TEST(seen[0].nodes.size() == 20U);
  for (const NodeView& node : seen[0].nodes) BOOST_TEST(node.problem == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
