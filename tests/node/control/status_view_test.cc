#include "node/control/status_view.h"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "node/control/report_json.h"
#include "tests/node/control/report_samples.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(status_view)

using namespace std::chrono_literals;

ControlAnswer launcher(const LaunchReport& report, const std::string& id = "4f2a") {
  return {{id, ""}, 100, json_of(report), ""};
}

ControlAnswer node(const NodeName& name, NodeReport report = testing::sample_node_report(),
                   const std::string& id = "4f2a") {
  return {{id, name}, 7, json_of(report), ""};
}

ControlAnswer silent(const NodeName& name) {
  return {{"4f2a", name}, 8, "", "no answer within 2000 ms: its process is stopped"};
}

/// Returns "ps0: no answer" or "trainer: up" for each node.
std::vector<std::string> states(const ClusterView& cluster) {
  std::vector<std::string> texts;
  for (const NodeView& node : cluster.nodes)
    texts.push_back(node.name + ": " + (node.report ? "answers" : node.problem));
  return texts;
}

using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(nodes_stand_in_the_order_of_their_launcher_with_what_became_of_them) {
  const LaunchReport launch{
      "digits", "", 1s, {{"z", 101, "", ""}, {"y", 102, "exit status 3", ""}, {"x", 103, "", ""}, {"w", 104, "", ""}}};
  const auto views = views_of({node("guest"), silent("w"), node("z"), launcher(launch)});
  BOOST_TEST_REQUIRE(views.size() == 1U);
  const ClusterView& cluster = views[0];
  BOOST_TEST(cluster.name == "digits");
  BOOST_TEST((states(cluster) == Texts{"z: answers", "y: ended: exit status 3", "x: runs, and is no node yet",
                                       "w: no answer within 2000 ms: its process is stopped", "guest: answers",
                                       "ps0: cannot be asked from here; z sees it up",
                                       "trainer: cannot be asked from here; z sees it up"}));
  BOOST_TEST(cluster.nodes[0].pid == 7);    // from its own answer
  BOOST_TEST(cluster.nodes[1].pid == 102);  // from its launcher
  BOOST_TEST(!cluster.all_answer());
}

BOOST_AUTO_TEST_CASE(parts_of_a_cluster_with_launchers_of_their_own_are_one_cluster) {
  const auto part = [](const std::string& host, std::vector<LaunchedNode> nodes) {
    return ControlAnswer{{"4f2a", "@" + host}, 100, json_of(LaunchReport{"digits", "", 1s, std::move(nodes)}), ""};
  };
  NodeReport last = testing::sample_node_report();
  last.rank = 3;
  last.members = {"y"};
  const auto views = views_of(
      {part("alpha", {{"z", 101, "", ""}}), part("beta", {{"x", 102, "", ""}, {"y", 103, "", ""}}), node("y", last)});
  BOOST_TEST_REQUIRE(views.size() == 1U);
  const ClusterView& cluster = views[0];
  BOOST_TEST((cluster.launchers == Texts{"@alpha", "@beta"}));
  BOOST_TEST((states(cluster) == Texts{"z: runs, and is no node yet", "x: runs, and is no node yet", "y: answers"}));
  BOOST_TEST(cluster.nodes[0].launcher == "@alpha");
  BOOST_TEST(cluster.nodes[2].launcher == "@beta");
  BOOST_TEST((cluster.nodes[2].rank == 3U));
  BOOST_TEST(!cluster.nodes[0].rank);  // a launcher knows the order of its own nodes only
}

BOOST_AUTO_TEST_CASE(a_program_on_another_host_that_has_not_joined_runs_and_is_no_node_yet) {
  const LaunchReport launch{"digits", "", 1s, {{"z", 101, "", "h1"}}};
  const auto views = views_of({{{"4f2a", "z"}, 8, json_of_error(OpenQuestion::kNobody), ""}, launcher(launch)});
  BOOST_TEST_REQUIRE(views.size() == 1U);
  BOOST_TEST((states(views[0]) == Texts{"z: runs, and is no node yet"}));
}

// Without a connection the kernel does not say whose process it is.
BOOST_AUTO_TEST_CASE(a_node_that_could_not_be_asked_stays_in_its_cluster, *boost::unit_test::label("attack")) {
  const auto of = [](uid_t user, ControlAnswer answer) {
    answer.user = user;
    return answer;
  };
  const ControlAnswer full{{"4f2a", "z"}, 0, "", OpenQuestion::kFull};
  const LaunchReport launch{"digits", "", 1s, {{"z", 101, "", ""}}};
  const auto views = views_of({full, of(::geteuid(), launcher(launch))});
  BOOST_TEST_REQUIRE(views.size() == 1U);
  BOOST_TEST((states(views[0]) == Texts{"z: no answer: it has not taken the questions before this one"}));
  BOOST_TEST(views[0].nodes[0].pid == 101);  // from its launcher
  // Of two users who say the same id either may have it.
  BOOST_TEST(views_of({full, of(1000, launcher(launch)), of(1001, launcher(launch))}).size() == 3U);
}

BOOST_AUTO_TEST_CASE(clusters_are_kept_apart_by_id_and_need_no_launcher) {
  NodeReport alone = testing::sample_node_report();
  alone.members = {"ps0"};
  const auto views = views_of({node("ps0", alone, "127.0.0.1:29500"), node("ps0", alone)});
  BOOST_TEST_REQUIRE(views.size() == 2U);
  BOOST_TEST(views[0].id == "127.0.0.1:29500");
  BOOST_TEST(views[0].name == "127.0.0.1:29500");
  BOOST_TEST(views[1].id == "4f2a");
  BOOST_TEST(views[0].all_answer());
  BOOST_TEST(!views[0].age.has_value());
}

BOOST_AUTO_TEST_CASE(what_another_user_says_stays_apart_from_clusters_of_this_one, *boost::unit_test::label("attack")) {
  const uid_t own = ::geteuid();
  const auto of = [](uid_t user, ControlAnswer answer) {
    answer.user = user;
    return answer;
  };
  const auto views = views_of({of(own, launcher({"digits", "/cluster.toml", 1s, {{"w", 104, "", ""}}})),
                               of(own + 1, launcher({"digits", "/cluster.toml", 1s, {{"w", 1, "", ""}}}, "5")),
                               of(own + 1, silent("ghost"))});
  BOOST_TEST_REQUIRE(views.size() == 3U);
  BOOST_TEST((states(views[0]) == Texts{"w: runs, and is no node yet"}));
  BOOST_TEST(!is_of_another_user(views[0]));
  BOOST_TEST((states(views[1]) == Texts{"ghost: no answer within 2000 ms: its process is stopped"}));
  BOOST_TEST(is_of_another_user(views[1]));
  BOOST_TEST(is_of_another_user(views[2]));
  const std::string whose = ", of user " + std::to_string(own + 1) + ", /cluster.toml";
  BOOST_TEST(text_of(views[0], PeersShown::all).find("of user") == std::string::npos);
  BOOST_TEST(text_of(views[2], PeersShown::all).find("digits (5)" + whose) == 0U);
}

BOOST_AUTO_TEST_CASE(answers_that_make_no_sense_are_problems_of_who_gave_them) {
  const auto views =
      views_of({{{"4f2a", ""}, 100, "{", ""}, {{"4f2a", "ps0"}, 7, R"({"error": "it has shut down"})", ""}});
  BOOST_TEST(views.at(0).problem.starts_with("its answer makes no sense"));
  BOOST_TEST((states(views[0]) == Texts{"ps0: it has shut down"}));
  BOOST_TEST(!views[0].all_answer());
  const auto stopped = views_of({{{"4f2a", ""}, 100, "", "no answer within 2000 ms"}});
  BOOST_TEST(text_of(stopped.at(0), PeersShown::busiest) == "4f2a\nits launcher: no answer within 2000 ms\n");
}

BOOST_AUTO_TEST_CASE(a_cluster_is_meant_by_name_id_and_file) {
  const testing::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "cluster.toml";
  std::ofstream(file) << "\n";
  ClusterView cluster;
  cluster.id = "4f2a";
  cluster.name = "digits";
  cluster.file = file.string();
  BOOST_TEST(is_meant(cluster, ""));
  BOOST_TEST(is_meant(cluster, "digits"));
  BOOST_TEST(is_meant(cluster, "4f"));
  BOOST_TEST(is_meant(cluster, (directory.path() / "." / "cluster.toml").string()));
  BOOST_TEST(!is_meant(cluster, "digit"));
  BOOST_TEST(!is_meant(cluster, "f2"));
  BOOST_TEST(!is_meant(cluster, directory.path().string()));
  cluster.file.clear();
  BOOST_TEST(!is_meant(cluster, file.string()));
}

BOOST_AUTO_TEST_CASE(text_has_a_row_for_each_node_and_one_for_each_peer) {
  NodeReport report = testing::sample_node_report();
  report.counts.unreachable.clear();
  const auto views = views_of({launcher(testing::sample_launch_report()), node("ps0", report)});
  BOOST_TEST(text_of(views.at(0), PeersShown::busiest) ==
             "digits (4f2a), /home/me/cluster.toml, started 1 min 15 s ago\n"
             "NODE     HOST  RANK  PID  STATE        UP  OWNERS  HANDLES  FORKS  CALLS  WAITING  SERVED  CONTEXTS   "
             "THREADS    SENT  RECEIVED\n"
             "ps0               0    7  serving  12.3 s       2        3      4      6       60       7         8  "
             "12/13/14  3.0 kB    4.0 MB\n"
             "trainer  b        1  102  ended: killed by signal 9 (SIGKILL)\n"
             "\n"
             "NODE  PEER     WAITING    BYTES  QUEUED  ANSWERS  OWNERS  FORKS  CONTEXTS  SHARDS\n"
             "ps0   trainer       60  61.0 kB      62  63.0 kB      64     65        66      67\n"
             "\n"
             "NODE  PEER     CALLS SENT  RECEIVED  BYTES SENT  RECEIVED  TRANSPORT\n"
             "ps0   trainer           1         2      3.0 kB    4.0 MB  shared memory (no ring: why)\n"
             "\n"
             "NODE  RINGS  PACKETS  SHARED MEMORY    IDLE    KEPT  GPU MEMORY  SEGMENTS  LEASES  TENSORS   COPIED  "
             "NOT COPIED\n"
             "ps0       5     6000         9.0 MB  1.0 MB  2.0 MB      8.0 MB         2       3       40  50.0 MB  "
             "  600.0 MB\n"
             "\n"
             "NODE  STREAMS OUT  IN  ENCRYPTED  PACKETS SENT  RECEIVED  DROPPED  REFUSED\n"
             "ps0             3   4  yes                5000      6001        8        9\n");
}

BOOST_AUTO_TEST_CASE(lines_of_output_that_were_dropped_are_shown_once_there_are_any) {
  LaunchReport launch = testing::sample_launch_report();
  const auto view = [&] { return views_of({launcher(launch), node("ps0")}).at(0); };
  BOOST_TEST(text_of(view(), PeersShown::busiest).find("LOST") == std::string::npos);
  BOOST_TEST(json_of({view()}).find("lost") == std::string::npos);
  launch.nodes[0].lost_lines = 123;
  launch.nodes[1].lost_lines = 45'678;
  const std::string text = text_of(view(), PeersShown::busiest);
  BOOST_TEST(text.find("NODE     HOST  RANK  PID  LINES LOST  STATE") != std::string::npos, text);
  BOOST_TEST(text.find("ps0               0    7         123  serving") != std::string::npos, text);
  BOOST_TEST(text.find("trainer  b        1  102       45678  ended: killed") != std::string::npos, text);
  const auto nodes = nlohmann::json::parse(json_of({view()})).at(0).at("nodes");
  BOOST_TEST(nodes.at(0).at("lost_lines") == 123);
  BOOST_TEST(nodes.at(1).at("lost_lines") == 45'678);
}

BOOST_AUTO_TEST_CASE(state_says_which_peers_a_node_does_not_hear_and_for_how_long) {
  NodeReport report = testing::sample_node_report();
  report.counts.unreachable = {{"ps1", 4200ms}, {"trainer", 9s}};
  const std::string text = text_of(views_of({node("ps0", report)}).at(0), PeersShown::busiest);
  BOOST_TEST(text.find("serving (has not heard ps1 for 4.2 s, trainer for 9.0 s)") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(only_the_busiest_peers_are_shown_unless_all_are_wanted) {
  NodeReport report = testing::sample_node_report();
  report.members.clear();
  for (std::uint64_t i = 1; i <= 10; ++i)
    report.counts.traffic->emplace("p" + std::to_string(i), PeerTraffic{0, 0, 10'000'000 * i, 0});
  const auto views = views_of({node("ps0", report)});
  const std::string busiest = text_of(views.at(0), PeersShown::busiest);
  BOOST_TEST(busiest.find("ps0   p10") != std::string::npos);
  BOOST_TEST(busiest.find("      p3 ") != std::string::npos);  // the eighth
  BOOST_TEST(busiest.find("      p2 ") == std::string::npos);
  BOOST_TEST(busiest.find("and 3 more: --peers shows all") != std::string::npos);
  report.counts.traffic->clear();
  report.counts.peers.clear();
  for (std::size_t i = 1; i <= 10; ++i) report.counts.peers.emplace("p" + std::to_string(i), PeerHoldings{.owners = i});
  const std::string richest = text_of(views_of({node("ps0", report)}).at(0), PeersShown::busiest);
  BOOST_TEST(richest.find("ps0   p10") != std::string::npos);
  BOOST_TEST(richest.find("      p3 ") != std::string::npos);  // the eighth
  BOOST_TEST(richest.find("      p2 ") == std::string::npos);
  BOOST_TEST(richest.find("and 2 more: --peers shows all") != std::string::npos);
  const std::string all = text_of(views.at(0), PeersShown::all);
  BOOST_TEST(all.find("      trainer ") != std::string::npos);
  BOOST_TEST(all.find("more") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(transports_are_shown_where_traffic_is_not_measured_and_left_out_where_there_is_one_only) {
  NodeReport report = testing::sample_node_report();
  report.counts.traffic.reset();
  report.counts.transports["ps1"] = {"tcp + stream, encrypted", ""};
  const std::string unmeasured = text_of(views_of({node("ps0", report)}).at(0), PeersShown::all);
  const std::string rows =
      "NODE  PEER     CALLS SENT  RECEIVED  BYTES SENT  RECEIVED  TRANSPORT\n"
      "ps0   ps1                                                  tcp + stream, encrypted\n"
      "      trainer                                              shared memory (no ring: why)\n";
  BOOST_TEST(unmeasured.find(rows) != std::string::npos, unmeasured);
  report.counts.transports.clear();
  report.counts.traffic.emplace().emplace("ps1", PeerTraffic{1, 2, 3, 4});
  const std::string alike = text_of(views_of({node("ps0", report)}).at(0), PeersShown::all);
  BOOST_TEST(alike.find("ps0   ps1            1         2         3 B       4 B\n") != std::string::npos, alike);
  BOOST_TEST(alike.find("TRANSPORT") == std::string::npos, alike);
}

// What a peer says why it takes no stream is among the reasons.
BOOST_AUTO_TEST_CASE(a_reason_cannot_change_the_terminal, *boost::unit_test::label("attack")) {
  NodeReport report = testing::sample_node_report();
  report.counts.transports["trainer"] = {"tcp", "no stream: \x1b[2J\nps9"};
  const std::string text = text_of(views_of({node("ps0", report)}).at(0), PeersShown::all);
  BOOST_TEST(text.find('\x1b') == std::string::npos, text);
  BOOST_TEST(text.find("\nps9") == std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_peer_whose_bytes_fill_a_node_is_shown_before_those_with_more_items) {
  NodeReport report = testing::sample_node_report();
  report.members.clear();
  report.counts.traffic->clear();
  report.counts.peers.clear();
  for (int i = 1; i <= 8; ++i) report.counts.peers.emplace("p" + std::to_string(i), PeerHoldings{.owners = 1});
  report.counts.peers.emplace("slow_reader", PeerHoldings{.answer_bytes = 256U << 20U});
  const std::string text = text_of(views_of({node("ps0", report)}).at(0), PeersShown::busiest);
  BOOST_TEST(text.find("ps0   slow_reader") != std::string::npos, text);
  BOOST_TEST(text.find("and 1 more: --peers shows all") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(json_holds_what_each_said) {
  const auto views = views_of({launcher(testing::sample_launch_report()), node("ps0")});
  const auto all = nlohmann::json::parse(json_of(views));
  BOOST_TEST_REQUIRE(all.size() == 1U);
  BOOST_TEST(all[0].at("id") == "4f2a");
  BOOST_TEST(all[0].at("name") == "digits");
  BOOST_TEST(all[0].at("file") == "/home/me/cluster.toml");
  BOOST_TEST(all[0].at("age") == 75.0);
  BOOST_TEST(all[0].at("nodes").at(1).at("rank") == 1);
  BOOST_TEST((parse_node_report(all[0].at("nodes").at(0).at("report").dump()) == testing::sample_node_report()));
  BOOST_TEST(all[0].at("nodes").at(1).at("problem") == "ended: killed by signal 9 (SIGKILL)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
