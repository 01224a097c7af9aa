// Another user who takes names before nodes do, and answers in the name of clusters that do not exist.
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/control/cluster_search.h"
#include "node/control/control_server.h"
#include "node/control/report_json.h"
#include "node/control/status_command.h"
#include "node/node.h"
#include "tests/process/attacks/stranger.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(invented_clusters, *boost::unit_test::precondition(may_be_another_user))

/// Control sockets of another user that give one answer each.
class Inventor {
 public:
  void answer_as(const ControlName& name, std::string answer) {
    as_user(kStranger,
            [&] { servers_.emplace_back(name, [answer = std::move(answer)](std::string_view) { return answer; }); });
  }

 private:
  std::list<detail::ControlServer> servers_;
};

std::string invented_node() {
  NodeReport report;
  report.phase = NodePhase::up;
  report.members = {"ghost"};
  report.counts.node = {"ghost", 7};
  return json_of(report);
}

/// A cluster of this user, with its launcher.
struct Cluster : TemporaryDirectory {
  Cluster() {
    std::ofstream(file()) << "[cluster]\nname = \"held\"\n"
                             "[[role]]\nname = \"callee\"\ncommand = [\"" WAITING_NODE
                             "\"]\n"
                             "[[role]]\nname = \"caller\"\ncommand = [\"" WAITING_NODE "\"]\n";
    up.emplace(path(), std::vector<std::string>{"up", "cluster.toml"}, 60s);
    up->wait_for("[callee] holding");
    for (const json& each : status()) {
      if (each.at("file") == file()) id = each.at("id");
    }
    BOOST_TEST_REQUIRE(!id.empty());
  }
  [[nodiscard]] std::string file() const { return (path() / "cluster.toml").string(); }
  [[nodiscard]] TroupeRun::Result troupe(std::vector<std::string> arguments) const {
    return TroupeRun(path(), std::move(arguments), 20s).finish();
  }
  [[nodiscard]] json status() const { return json::parse(troupe({"status", "--json"}).last()); }

  std::optional<TroupeRun> up;
  std::string id;
};

BOOST_AUTO_TEST_CASE(cluster_that_another_user_invents_is_no_other_users_and_root_sees_whose_it_is,
                     *label("attack") * label("S15")) {
  const Cluster cluster;
  const std::string invented = fmt::format("invented-{}", ::getpid());
  Inventor inventor;
  const LaunchReport launch{"held", cluster.file(), 1s, {{"caller", ::getpid(), "", ""}}};
  inventor.answer_as({invented, {}}, json_of(launch));         // the name and the file of the true one
  inventor.answer_as({cluster.id, "ghost"}, invented_node());  // one more node of the true one
  int own = 0, others = 0;
  for (const json& each : cluster.status()) {
    if (each.at("id") != cluster.id && each.at("id") != invented) continue;
    const bool is_own = !each.contains("user");
    ++(is_own ? own : others);
    BOOST_TEST(each.at("nodes").size() == (is_own ? 2U : 1U));
    if (is_own) BOOST_TEST(each.at("id") == cluster.id);
    else BOOST_TEST(each.at("user") == kStranger);
  }
  BOOST_TEST(own == 1);
  BOOST_TEST(others == 2);
  const std::vector<std::string> lines = cluster.troupe({"status", "cluster.toml"}).lines;
  const std::string head = fmt::format("held ({}), of user {}, {}", invented, kStranger, cluster.file());
  BOOST_TEST(std::ranges::count_if(lines, [&](const auto& line) { return line.starts_with(head); }) == 1);
  // An order to the cluster of this file goes to the true one.
  const TroupeRun::Result killed = cluster.troupe({"kill", "caller", "cluster.toml", "--signal", "CONT"});
  BOOST_TEST(killed.status == 0);
  BOOST_TEST(killed.last().starts_with("sent SIGCONT to caller, pid "), killed.last());
  for (const ClusterView& each :
       as_user(kBystander, [] { return detail::ask_around(detail::control_names(), detail::Nodes::yes, 2s); })) {
    BOOST_TEST(each.id != invented);
    BOOST_TEST(each.id != cluster.id);
  }
}

BOOST_AUTO_TEST_CASE(stack_is_of_this_users_node_whatever_other_users_name_theirs, *label("attack") * label("S15")) {
  const std::string node = fmt::format("w{}", ::getpid());
  for (const uid_t user : {uid_t{0}, kBystander}) {
    const std::string id = fmt::format("own-{}-{}", ::getpid(), user);
    Inventor inventor;
    inventor.answer_as({id + "x", node}, "no report");
    const auto stack = [&](const std::string& cluster) {
      return as_user(user, [&] { return show_stack({.node = node, .cluster = cluster}); });
    };
    BOOST_TEST(stack(id) == 1);  // there is none of this user
    std::list<detail::ControlServer> own;
    const auto begin = [&](const std::string& cluster) {
      as_user(user, [&] {
        own.emplace_back(ControlName{cluster, node}, [](std::string_view) { return json_of(StackReport{}); });
      });
    };
    begin(id);
    BOOST_TEST(stack("") == 0);
    BOOST_TEST(stack(id) == 0);
    begin(id + "y");
    BOOST_TEST(stack("") == 1);  // of two
    BOOST_TEST(stack(id) == 0);
    BOOST_TEST(stack(id + "y") == 0);
  }
}

std::int64_t square(std::int64_t x) { return x * x; }

/// Nodes of one cluster over unix sockets.
struct World {
  [[nodiscard]] Node join(const NodeName& name, const std::string& listen, const std::string& seed = {}) const {
    NodeOptions options;
    options.name = name;
    options.cluster_id = cluster;
    options.secret = secret;
    options.bind = listen;
    options.seed = seed;
    options.world_size = 0;
    options.control = Control::on;
    options.join_deadline = 5s;
    options.link_options["connect_patience"] = "500ms";
    return Node::join(options, {{"square", &square}});
  }
  const std::string cluster = fmt::format("taken-{}", ::getpid());
  const ClusterSecret secret = ClusterSecret::random();
};

BOOST_AUTO_TEST_CASE(names_that_another_user_took_first_keep_no_node_from_starting, *label("attack") * label("S15")) {
  const World world;
  Inventor inventor;
  for (const char* node : {"", "a", "b"}) inventor.answer_as({world.cluster, node}, invented_node());
  const Node a = world.join("a", "ipc://");
  const Node b = world.join("b", "ipc://", a.address());
  BOOST_TEST(b.rpc_sync("a", &square, std::int64_t{3}) == 9);
}

BOOST_AUTO_TEST_CASE(node_does_not_join_the_cluster_of_another_user_who_took_the_seeds_name,
                     *label("attack") * label("S15")) {
  const World world;
  const World invented;  // of the same id, with another secret
  const std::string seed = fmt::format("ipc://@troupe-taken-{}", ::getpid());
  const Node impostor = as_user(kStranger, [&] { return invented.join("a", seed); });
  BOOST_CHECK_THROW((void)world.join("b", "ipc://", seed), RemoteError);
  BOOST_TEST(impostor.members().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
