#include "node/engines/host_part.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "node/keys/key_directory.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using troupe::testing::TemporaryDirectory;
using troupe::testing::TroupeRun;

constexpr const char* kHosts =
    "[[host]]\nname = \"alpha\"\naddress = \"192.0.2.7\"\nenv = { WHERE = \"alpha\" }\n"
    "[[host]]\nname = \"beta\"\ngpus = 2\n";

constexpr const char* kSaysWhatItIsTold = "echo $TROUPE_NODE $TROUPE_KEY_FILE ${TROUPE_SECRET_FD:-no secret}";

/// A ps on alpha, three trainers on beta (or another host), a driver on alpha; and their keys.
struct Part : TemporaryDirectory {
  explicit Part(const std::string& cluster = "port = 29600\n", const std::string& hosts = kHosts,
                const std::string& program = "sh", const std::string& script = kSaysWhatItIsTold,
                const std::string& of_trainers = "beta")
      : keys(KeyDirectory::make((path() / "keys").string())) {
    const auto role = [&](const std::string& name, int count, const std::string& host) {
      return fmt::format(
          "[[role]]\nname = \"{}\"\ncount = {}\nhosts = [\"{}\"]\ncommand = [\"{}\", \"-c\", '''{}''']\n", name, count,
          host, program, script);
    };
    std::ofstream(path() / "c.toml") << "[cluster]\nresult = \"driver\"\n"
                                     << cluster << hosts << role("ps", 1, "alpha") << role("trainer", 3, of_trainers)
                                     << role("driver", 1, "alpha");
    keys.add({"ps", "trainer0", "trainer1", "trainer2", "driver"}, std::nullopt);
  }
  [[nodiscard]] std::string nodes() const { return (path() / "keys" / "nodes").string(); }

  [[nodiscard]] LaunchPlan plan(const std::string& host) const {
    ClusterConfig config = load_config((path() / "c.toml").string(), {}, {});
    return plan_host_part(config, {host, {.keys = nodes(), .members = "", .name = "", .pod = ""}},
                          {.variables = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/root"}}, .cores = 8});
  }
  [[nodiscard]] std::string refusal(const std::string& host) const {
    try {
      (void)plan(host);
    } catch (const std::exception& error) {
      std::string text = error.what();
      for (std::size_t at = text.find(path().string()); at != std::string::npos; at = text.find(path().string())) {
        text.replace(at, path().string().size(), "DIR");
      }
      return text;
    }
    return {};
  }

  KeyDirectory keys;
};

std::string value(const NodePlan& node, const std::string& name) {
  const auto found = node.child.environment.find(name);
  return found == node.child.environment.end() ? "none" : found->second;
}

BOOST_AUTO_TEST_SUITE(host_part)

BOOST_AUTO_TEST_CASE(a_host_starts_its_own_nodes_with_the_places_that_the_file_gives_them) {
  const Part part;
  const LaunchPlan alpha = part.plan("alpha");
  BOOST_REQUIRE(alpha.nodes.size() == 2U);
  BOOST_TEST(alpha.cluster_id == part.keys.list().cluster_id);
  BOOST_TEST(alpha.nodes_have_key_files);
  BOOST_TEST(alpha.hosts.empty());
  BOOST_REQUIRE(alpha.result);
  BOOST_TEST(*alpha.result == 1U);
  BOOST_TEST(alpha.nodes[0].name == "ps");
  BOOST_TEST(value(alpha.nodes[0], "TROUPE_RANK") == "0");
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_RANK") == "4");
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_WORLD") == "ps,trainer0,trainer1,trainer2,driver");
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_KEY_FILE") == part.keys.key_path("driver"));
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_MEMBERS_FILE") == part.keys.list_path());
  BOOST_TEST(value(alpha.nodes[1], "TROUPE__CLUSTER__NETWORK") == "keys");
  BOOST_TEST(value(alpha.nodes[1], "WHERE") == "alpha");
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_MATH_THREADS") == "4");

  const LaunchPlan beta = part.plan("beta");
  BOOST_REQUIRE(beta.nodes.size() == 3U);
  BOOST_TEST(!beta.result);
  BOOST_TEST(beta.nodes[2].label == "trainer/2");
  BOOST_TEST(value(beta.nodes[2], "TROUPE_RANK") == "3");
  BOOST_TEST(value(beta.nodes[1], "CUDA_VISIBLE_DEVICES") == "1");
  BOOST_TEST(value(beta.nodes[2], "CUDA_VISIBLE_DEVICES") == "0");
  BOOST_TEST(value(beta.nodes[2], "WHERE") == "none");
}

BOOST_AUTO_TEST_CASE(the_first_node_listens_at_its_hosts_address_and_others_toward_it) {
  const Part part;
  const LaunchPlan alpha = part.plan("alpha");
  BOOST_TEST(value(alpha.nodes[0], "TROUPE_SEED") == "tcp://192.0.2.7:29600");
  BOOST_TEST(value(alpha.nodes[0], "TROUPE_ADDRESS") == "tcp://192.0.2.7:29600");
  BOOST_TEST(value(alpha.nodes[1], "TROUPE_ADDRESS") == "tcp://192.0.2.7:*");
  const LaunchPlan beta = part.plan("beta");
  BOOST_TEST(value(beta.nodes[0], "TROUPE_SEED") == "tcp://192.0.2.7:29600");
  BOOST_TEST(value(beta.nodes[0], "TROUPE_ADDRESS") == "none");

  const Part named("port = 29600\nseed = \"first.example\"\n");
  BOOST_TEST(value(named.plan("beta").nodes[0], "TROUPE_SEED") == "tcp://first.example:29600");
  BOOST_TEST(value(named.plan("alpha").nodes[0], "TROUPE_ADDRESS") == "tcp://192.0.2.7:29600");
}

BOOST_AUTO_TEST_CASE(programs_run_in_the_directory_of_the_host) {
  const Part part("port = 29600\n", std::string(kHosts) + "working_dir = \"/srv/app\"\n");
  for (const NodePlan& node : part.plan("beta").nodes) BOOST_TEST(node.child.working_dir == "/srv/app");
  BOOST_TEST(part.plan("alpha").nodes[0].child.working_dir == "");
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_contradicts_itself_is_named) {
  const Part part;
  BOOST_TEST(part.refusal("alpah") == "DIR/c.toml has no host \"alpah\", did you mean \"alpha\"?; it has alpha, beta");
  fs::remove(part.keys.key_path("trainer1"));
  BOOST_TEST(part.refusal("alpha") == "");  // the keys of other hosts need not be here
  BOOST_TEST(part.refusal("beta").find("trainer1.key") != std::string::npos);
  BOOST_TEST(Part("").refusal("alpha") == "DIR/c.toml: cluster.port is missing: the port of ps, the same for all");
  const Part nowhere("port = 29600\n", "[[host]]\nname = \"alpha\"\n[[host]]\nname = \"beta\"\n");
  BOOST_TEST(nowhere.refusal("alpha") ==
             "DIR/c.toml: host.alpha.address is missing: the host of ps, as all others reach it");
  const Part shared("port = 29600\naddress = \"192.0.2.9\"\n");
  BOOST_TEST(shared.refusal("beta").ends_with(
      "cluster.address = \"192.0.2.9\" is for one machine; with [[host]], each has host.address"));
  const Part unknown("port = 29600\n", kHosts, "trainer-of-no-file");
  const std::string refusal = unknown.refusal("beta");
  BOOST_TEST(refusal.find("no program \"trainer-of-no-file\"") != std::string::npos);
  BOOST_TEST(refusal.find("trainer-of-no-file") == refusal.rfind("trainer-of-no-file"));  // of three nodes, once
  const Part idle("port = 29600\n", std::string(kHosts) + "[[host]]\nname = \"gamma\"\n");
  BOOST_TEST(idle.refusal("gamma").ends_with(" places no node on host gamma"));
  const auto without_keys = TroupeRun(part.path(), {"up", "c.toml", "--host", "alpha"}).finish();
  BOOST_TEST(without_keys.status == 2);
  BOOST_TEST(without_keys.last() == "--host needs --keys: the directory with the keys of its nodes (troupe keys)");
  const auto without_host = TroupeRun(part.path(), {"up", "c.toml", "--keys", "keys/nodes"}).finish();
  BOOST_TEST(without_host.status == 2);
  BOOST_TEST(without_host.last() == "troupe: --keys requires --host (see troupe up --help)");
}

BOOST_AUTO_TEST_CASE(programs_have_their_keys_in_files_and_are_told_no_secret) {
  const Part part;
  const auto run = TroupeRun(part.path(), {"up", "c.toml", "--host", "alpha", "--keys", "keys/nodes"}).finish();
  BOOST_TEST(run.status == 0);
  const auto says = [&](const std::string& line) { return std::ranges::count(run.lines, line) == 1; };
  BOOST_TEST(says(fmt::format("[ps] ps {} no secret", part.keys.key_path("ps"))));
  BOOST_TEST(says(fmt::format("[driver] driver {} no secret", part.keys.key_path("driver"))));
  BOOST_TEST(run.last() == fmt::format("driver {} no secret", part.keys.key_path("driver")));
}

BOOST_AUTO_TEST_CASE(parts_of_a_cluster_on_one_machine_are_shown_together_and_each_does_what_it_is_told) {
  // The socket of a launcher has room for fewer characters than a host's name may have.
  const std::string longest(64, 'b');
  const Part part("port = 29600\n", fmt::format("{}[[host]]\nname = \"{}\"\n", kHosts, longest), "sh",
                  "echo $TROUPE_NODE is here; exec sleep 1000", longest);
  const std::string file = (part.path() / "c.toml").string();
  const auto troupe = [&part](std::vector<std::string> arguments) {
    return TroupeRun(part.path(), std::move(arguments)).finish();
  };
  TroupeRun alpha(part.path(), {"up", "c.toml", "--host", "alpha", "--keys", "keys/nodes"});
  TroupeRun beta(part.path(), {"up", "c.toml", "--host", longest, "--keys", "keys/nodes"});
  for (const char* name : {"ps", "driver"}) alpha.wait_for(fmt::format("{} is here", name));
  for (const char* name : {"trainer0", "trainer1", "trainer2"}) beta.wait_for(fmt::format("{} is here", name));

  const auto status = troupe({"status", file});
  for (const std::string name : {"ps", "driver", "trainer0", "trainer1", "trainer2"}) {
    const auto is_row = [&name](const std::string& line) { return line.starts_with(name + " "); };
    BOOST_TEST(std::ranges::count_if(status.lines, is_row) == 1, name);
    BOOST_TEST(troupe({"logs", name, file}).lines == std::vector{name + " is here"}, boost::test_tools::per_element());
  }
  BOOST_TEST(
      troupe({"logs", file}).last() ==
      "troupe: several launchers run parts of troupe here, name a node: ps, driver, trainer0, trainer1, trainer2");
  BOOST_TEST(troupe({"stack", "trainer1", file}).last().ends_with(": runs, and is no node yet"));
  BOOST_TEST(troupe({"kill", "trainer1", file}).last().starts_with("sent SIGTERM to trainer1, pid "));
  BOOST_TEST(beta.finish().status == 128 + SIGTERM);
  BOOST_TEST(troupe({"logs", file}).status == 0);
  BOOST_TEST(troupe({"kill", "ps", file}).last().starts_with("sent SIGTERM to ps, pid "));
  BOOST_TEST(alpha.finish().status == 128 + SIGTERM);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
