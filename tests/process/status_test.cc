// `troupe status` and `troupe stack` on running clusters, as a user types them.
#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "node/launch/reserved_port.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string kStopped = "no answer within 300 ms: its process is stopped";

/// Two callers that wait for a callee, whatever the load of this machine.
struct Cluster : TemporaryDirectory {
  static std::string role(const std::string& name, int count) {
    return "[[role]]\nname = \"" + name + "\"\ncount = " + std::to_string(count) +
           "\ncommand = [\"" WAITING_NODE "\"]\non_exit = \"keep_going\"\n";
  }

  explicit Cluster(const std::string& network = "") {
    std::ofstream(path() / "cluster.toml") << "[cluster]\nname = \"held\"\n"
                                           << network << "[peer]\nowners_max = 1\n"
                                           << role("callee", 1) << role("caller", 2);
    up.emplace(path(), std::vector<std::string>{"up", "cluster.toml"}, 60s);
    up->wait_for("[callee] holding");
    up->wait_for("[callee] holding");
  }

  [[nodiscard]] TroupeRun::Result troupe(std::vector<std::string> arguments) const {
    return TroupeRun(path(), std::move(arguments), 20s).finish();
  }
  [[nodiscard]] json status() const { return json::parse(troupe({"status", "cluster.toml", "--json"}).last()).at(0); }
  /// Waits until the callers have acknowledged their answers to the callee.
  void await_taken_answers() const {
    const auto due = std::chrono::steady_clock::now() + 10s;
    const auto untaken = [this] {
      const json peers = status().at("nodes").at(0).at("report").at("counts").at("peers");
      return std::any_of(peers.begin(), peers.end(), [](const json& peer) { return peer.at("answer_bytes") != 0; });
    };
    while (untaken()) BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < due));
  }
  [[nodiscard]] pid_t pid(std::size_t rank) const { return status().at("nodes").at(rank).at("pid").get<pid_t>(); }

  std::optional<TroupeRun> up;
};

/// Returns the first line that begins with `name`, with single spaces.
std::string row(const TroupeRun::Result& result, const std::string& name) {
  for (const std::string& line : result.lines) {
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
    if (text.starts_with(name)) return text;
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Returns the number of the line of waiting_node.cc that makes the call.
std::string calling_line() {
  std::ifstream file(TROUPE_SOURCE_DIR "/tests/process/waiting_node.cc");
  int number = 1;
  for (std::string line; std::getline(file, line) && !contains(line, "rpc_sync"); ++number) {
  }
  return std::to_string(number);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(status, Cluster)

BOOST_AUTO_TEST_CASE(status_shows_every_node_and_what_it_counts) {
  const TroupeRun::Result result = troupe({"status", "cluster.toml"});
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.lines.at(0).starts_with("held ("));
  BOOST_TEST(contains(result.lines[0], (path() / "cluster.toml").string()));
  BOOST_TEST(row(result, "callee").starts_with("callee 0 "));
  BOOST_TEST(contains(row(result, "callee"), " serving "));
  BOOST_TEST(contains(row(result, "caller1"), " up "));

  const json cluster = status();
  BOOST_TEST(cluster.at("name") == "held");
  const json& callee = cluster.at("nodes").at(0);
  BOOST_TEST(callee.at("name") == "callee");
  BOOST_TEST(callee.at("report").at("counts").at("served_calls") == 2);
  BOOST_TEST(callee.at("report").at("counts").at("threads_busy") == 2);
  const json& caller = cluster.at("nodes").at(2);
  BOOST_TEST(caller.at("name") == "caller1");
  BOOST_TEST(caller.at("report").at("rank") == 2);
  BOOST_TEST(caller.at("report").at("counts").at("pending_calls") == 1);
  BOOST_TEST(caller.at("report").at("counts").at("traffic").at("callee").at("bytes_sent") > 0);
}

BOOST_AUTO_TEST_CASE(status_shows_what_each_peer_has_on_a_node_and_the_files_bounds_hold) {
  up->wait_for("[caller/0] caller0 has 1 values on callee, at most 1 (peer.owners_max)");
  up->wait_for("[caller/1] caller1 has 1 values on callee, at most 1 (peer.owners_max)");
  await_taken_answers();
  const TroupeRun::Result result = troupe({"status", "cluster.toml"});
  BOOST_TEST(row(result, "callee caller0") == "callee caller0 0 0 B 0 0 B 1 1 0 0");  // an owner and a fork
  BOOST_TEST(row(result, "caller1 0 0 B") == "caller1 0 0 B 0 0 B 1 1 0 0");
  const json peers = status().at("nodes").at(0).at("report").at("counts").at("peers");
  BOOST_TEST(peers.at("caller1").at("owners") == 1);
}

BOOST_AUTO_TEST_CASE(stack_shows_the_call_at_both_of_its_ends) {
  const TroupeRun::Result caller = troupe({"stack", "caller0", "cluster.toml"});
  BOOST_TEST(caller.status == 0);
  BOOST_TEST(caller.lines.at(0).starts_with("caller0 (rank 1), up "));
  BOOST_TEST(std::any_of(caller.lines.begin(), caller.lines.end(), [](const std::string& line) {
    return line.ends_with("no limit  callee  rpc hold  waiting_node.cc:" + calling_line());
  }));
  const TroupeRun::Result callee = troupe({"stack", "callee", "held"});
  BOOST_TEST(callee.status == 0);
  BOOST_TEST(std::any_of(callee.lines.begin(), callee.lines.end(),
                         [](const std::string& line) { return line.ends_with("caller1  rpc hold"); }));
  BOOST_TEST(std::any_of(callee.lines.begin(), callee.lines.end(),
                         [](const std::string& line) { return line.ends_with("runs  rpc hold for caller0"); }));
}

BOOST_AUTO_TEST_CASE(a_stopped_node_is_shown_as_such_in_time_and_hides_no_other) {
  const pid_t callee = pid(0);
  ::kill(callee, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  const TroupeRun::Result stopped = troupe({"status", "cluster.toml", "--timeout", "0.3"});
  const TroupeRun::Result stack = troupe({"stack", "callee", "cluster.toml", "--timeout", "0.3"});
  const auto took = std::chrono::steady_clock::now() - begin;
  ::kill(callee, SIGCONT);
  BOOST_TEST(stopped.status == 1);
  BOOST_TEST(row(stopped, "callee") == "callee 0 " + std::to_string(callee) + " " + kStopped);
  BOOST_TEST(contains(row(stopped, "caller0"), " up "));
  BOOST_TEST(stack.status == 1);
  BOOST_TEST(stack.last() == "troupe: callee, pid " + std::to_string(callee) + ": " + kStopped);
  BOOST_TEST((took < 5s));
  BOOST_TEST(troupe({"status", "cluster.toml"}).status == 0);
}

BOOST_AUTO_TEST_CASE(an_ended_node_is_shown_with_its_end) {
  const pid_t caller = pid(2);
  ::kill(caller, SIGKILL);
  up->wait_for("[caller/1] killed by signal 9");
  const TroupeRun::Result result = troupe({"status", "cluster.toml"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(row(result, "caller1") == "caller1 2 " + std::to_string(caller) + " ended: killed by signal 9 (SIGKILL)");
  BOOST_TEST(contains(row(result, "caller0"), " up "));
}

BOOST_AUTO_TEST_CASE(who_is_not_there_is_named_with_those_who_are) {
  const TroupeRun::Result node = troupe({"stack", "caler0", "cluster.toml"});
  BOOST_TEST(node.status == 1);
  BOOST_TEST(node.last() ==
             "troupe: no node \"caler0\" runs here, did you mean \"caller0\"?; there are: callee, caller0, caller1");
  const TroupeRun::Result cluster = troupe({"status", "no-such-cluster"});
  BOOST_TEST(cluster.status == 1);
  BOOST_TEST(cluster.last().starts_with("troupe: no cluster \"no-such-cluster\" runs here; there are: "));
  up->signal(SIGTERM);
  static_cast<void>(up->finish());
  BOOST_TEST(up->all_gone());
  BOOST_TEST(troupe({"status", "cluster.toml"}).last().starts_with("troupe: no cluster "));
}

/// The same over TCP with keys. Its nodes have joined and called each other once it exists.
struct KeyedCluster : Cluster {
  KeyedCluster() : Cluster("transport = \"tcp\"\nnetwork = \"keys\"\n") {}
};

BOOST_FIXTURE_TEST_CASE(processes_with_keys_call_each_other_and_their_keys_are_not_in_their_environment, KeyedCluster,
                        *boost::unit_test::label("S2")) {
  BOOST_TEST(status().at("nodes").size() == 3U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::ifstream file("/proc/" + std::to_string(pid(rank)) + "/environ");
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.empty()) {  // others of its user may not read what a node with keys has in memory
      BOOST_TEST_MESSAGE("only who may trace any process can read the environment of a node with keys");
      continue;
    }
    BOOST_TEST(contains(environment, "TROUPE__CLUSTER__NETWORK=keys"));
    BOOST_TEST(contains(environment, "TROUPE_KEYS_FD="));
    BOOST_TEST(!contains(environment, "TRPK"));
  }
}

/// Two hosts, both this machine, each started by its own command with keys in files.
struct TwoHosts : TemporaryDirectory {
  TwoHosts() {
    std::ofstream(path() / "c.toml") << cluster();
    BOOST_TEST(run({"keys", "init-cluster"}).finish().status == 0);
    BOOST_TEST(run({"keys", "new-node", "--for", "c.toml"}).finish().status == 0);
  }
  static std::string role(const std::string& name, int count, const std::string& host) {
    return "[[role]]\nname = \"" + name + "\"\ncount = " + std::to_string(count) + "\nhosts = [\"" + host +
           "\"]\ncommand = [\"" WAITING_NODE "\"]\n";
  }
  static std::string host(const std::string& name) {
    return "[[host]]\nname = \"" + name + "\"\naddress = \"127.0.0.1\"\n";
  }
  [[nodiscard]] std::string cluster(const std::string& settings = "") const {
    return "[cluster]\nport = " + port.number + "\n" + settings + "[peer]\nowners_max = 1\n" + host("alpha") +
           host("beta") + role("callee", 1, "alpha") + role("caller", 2, "beta");
  }
  [[nodiscard]] TroupeRun run(std::vector<std::string> arguments) const { return {path(), std::move(arguments), 60s}; }
  [[nodiscard]] TroupeRun start(const std::string& host) const {
    return run({"up", "c.toml", "--host", host, "--keys", "keys/nodes"});
  }

  const detail::ReservedPort port = detail::reserve_port("127.0.0.1", 0);
};

BOOST_FIXTURE_TEST_CASE(hosts_that_are_started_apart_are_one_cluster, TwoHosts) {
  TroupeRun beta = start("beta");  // waits for the first node
  TroupeRun alpha = start("alpha");
  alpha.wait_for("[callee] holding");
  alpha.wait_for("[callee] holding");
  beta.wait_for("[caller/1] caller1 has 1 values on callee");
  alpha.signal(SIGTERM);
  BOOST_TEST(alpha.finish().status == 128 + SIGTERM);
  const TroupeRun::Result end = beta.finish();  // its nodes lose the callee
  BOOST_TEST(end.status != 0);
  BOOST_TEST(beta.all_gone());
}

BOOST_FIXTURE_TEST_CASE(a_host_that_the_others_do_not_know_joins_later, TwoHosts, *boost::unit_test::label("S11")) {
  const detail::ReservedPort join_port = detail::reserve_port("127.0.0.1", 0);
  // A thread for each call that is held, and for others.
  const std::string grows = "grows = true\njoin_port = " + join_port.number + "\n[pool]\nthreads = 8\n";
  std::ofstream(path() / "c.toml") << cluster(grows);
  std::filesystem::copy(path() / "keys" / "nodes", path() / "before");  // what the machines of both hosts have
  std::filesystem::permissions(path() / "before", std::filesystem::perms::owner_all);
  TroupeRun beta = run({"up", "c.toml", "--host", "beta", "--keys", "before"});
  TroupeRun alpha = run({"up", "c.toml", "--host", "alpha", "--keys", "before"});
  alpha.wait_for("[callee] holding");
  alpha.wait_for("[callee] holding");

  std::ofstream(path() / "later.toml") << cluster(grows) << host("gamma") << role("late", 1, "gamma");
  BOOST_TEST(run({"keys", "new-node", "late"}).finish().status == 0);
  TroupeRun gamma = run({"up", "later.toml", "--host", "gamma", "--keys", "keys/nodes"});
  alpha.wait_for("late is certified");
  beta.wait_for("late is certified");
  gamma.wait_for("[late] late has 1 values on callee");
  alpha.wait_for("[callee] holding");
  alpha.signal(SIGTERM);
  BOOST_TEST(alpha.finish().status == 128 + SIGTERM);
  BOOST_TEST(beta.finish().status != 0);
  BOOST_TEST(gamma.finish().status != 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
