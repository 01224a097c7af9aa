// `troupe up` over two machines joined by a wire, through ssh: one has namespaces and an sshd of its own.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/chaos/network_namespace.h"
#include "tests/chaos/ssh_host.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using boost::unit_test::label;
using boost::unit_test::precondition;

struct OneWireOfHosts {
  OneWireOfHosts() { join_by_wire(one, other); }

  NetworkNamespace one;
  NetworkNamespace other;
};

/// This thread is on the first machine, 10.77.0.1; on the other, 10.77.0.2, an sshd listens.
struct TwoHosts : OneWireOfHosts {
  /// Returns a run of the cluster with two hosts: "here", and "there" through ssh.
  TroupeRun up(const std::string& cluster, const std::string& roles, std::chrono::seconds limit) const {
    return run({"up", "cluster.toml"}, cluster, roles, limit);
  }

  /// Returns what `troupe doctor` says about these hosts.
  TroupeRun::Result doctor() const {
    return run({"doctor", "cluster.toml", "--timeout", "4"}, "ports = \"29500-29509\"",
               "[[role]]\nname = \"n\"\ncommand = [\"sh\"]\ncount = 2\n", std::chrono::seconds(30))
        .finish();
  }

  TroupeRun run(const std::vector<std::string>& arguments, const std::string& cluster, const std::string& roles,
                std::chrono::seconds limit) const {
    std::ofstream(directory.path() / "cluster.toml") << fmt::format(
        "[cluster]\nname = \"hosts\"\n{}\n[[host]]\nname = \"here\"\nlocal = true\naddress = "
        "\"wire\"\n[[host]]\nname = \"there\"\nagent = {}\n{}",
        cluster, login.agent_at("10.77.0.2"), roles);
    return TroupeRun(directory.path(), arguments, limit);
  }

  TemporaryDirectory directory;
  NetworkNamespace::Inside here{one};
  SshLogin login{directory.path()};
  SshHost there{other, login, "there", {"10.77.0.2"}};
};

std::string role_of(const std::string& name, const std::string& script) {
  return "[[role]]\nname = \"" + name + "\"\ncommand = [\"sh\", \"-c\", '''" + script + "''']\n";
}

/// Returns whether a line begins and ends like this.
bool has_line(const std::vector<std::string>& lines, const std::string& begin, const std::string& end) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.starts_with(begin) && line.ends_with(end); });
}

std::string rest_after(const std::string& line, const std::string& word) {
  return line.substr(line.find(word) + word.size());
}

BOOST_TEST_DECORATOR(*label("chaos") * label("privileged") * precondition(NeedsSshd{}))
BOOST_FIXTURE_TEST_SUITE(hosts, TwoHosts)

BOOST_AUTO_TEST_CASE(demo_runs_over_two_hosts_with_one_command) {
  const std::string trainer =
      std::string("command = [\"") + TRAINER + "\", \"--examples\", \"1600\", \"--epochs\", \"1\"]";
  auto run = up("result = \"trainer1\"",
                std::string("[[role]]\nname = \"ps\"\ncommand = [\"") + PARAMETER_SERVER +
                    "\"]\n[[role]]\nname = \"trainer\"\ncount = 2\n" + trainer + "\n",
                std::chrono::seconds(90));
  run.wait_for("3 nodes on 2 hosts started in ");
  run.wait_for("[trainer/1] training");
  const std::string status = one.run(std::string(TROUPE_PROGRAM) + " status hosts | tr -s ' '");
  for (const char* row : {"\nps here 0 ", "\ntrainer0 there 1 ", "\ntrainer1 here 2 "}) {
    BOOST_TEST(status.find(row) != std::string::npos, status);
  }
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  const std::string done = "[trainer/0] Training complete! 25 of 25 steps accepted";
  BOOST_TEST(std::count(result.lines.begin(), result.lines.end(), done) == 1);
  BOOST_TEST(result.last().starts_with("test accuracy: "), result.last());
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_when_the_wire_is_cut_for_less_than_the_lease) {
  const std::string counts = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo count $i; sleep 0.05; done";
  auto run = up("lease = \"20s\"", role_of("near", counts) + role_of("far", counts), std::chrono::seconds(40));
  run.wait_for("[far] count 5");
  one.cut_incoming();
  other.cut_incoming();
  run.wait_for("[near] count 50");
  one.mend();
  other.mend();
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  std::vector<std::string> far;
  for (const std::string& line : result.lines) {
    if (line.starts_with("[far] count ")) far.push_back(rest_after(line, "count "));
  }
  BOOST_TEST_REQUIRE(far.size() == 60u);
  for (std::size_t i = 0; i < far.size(); ++i) BOOST_TEST(far[i] == std::to_string(i + 1));
}

BOOST_AUTO_TEST_CASE(a_host_that_is_cut_off_for_good_leaves_no_process) {
  const std::string waits = "echo ready; exec sleep 1000";
  auto run = up("lease = \"2s\"",
                role_of("near", "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait") + role_of("far", waits),
                std::chrono::seconds(30));
  run.wait_for("[near] ready");
  run.wait_for("[far] ready");
  run.wait_for("2 nodes on 2 hosts started in ");
  const HostEnd far(there);
  one.cut_incoming();
  other.cut_incoming();
  run.wait_for("[host there] no word from its agent for 2000 ms");
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.last().starts_with("[far] lost with its host, pid "), result.last());
  BOOST_TEST(std::count(result.lines.begin(), result.lines.end(), "[near] bye") == 1);
  BOOST_TEST(far.comes());
}

BOOST_AUTO_TEST_CASE(doctor_finds_no_problem_where_hosts_reach_each_other) {
  const auto result = doctor();
  BOOST_TEST(result.status == 0, result.last());
  BOOST_TEST(result.last().starts_with("doctor: 2 hosts, 0 problems, "), result.last());
  BOOST_TEST(has_line(result.lines, "  ok       address    10.77.0.1", ""));
  BOOST_TEST(has_line(result.lines, "  ok       address    10.77.0.2", ""));
  BOOST_TEST(has_line(result.lines, "  ok       network    reaches there by tcp and udp, within ", " ms"));
  BOOST_TEST(has_line(result.lines, "  ok       network    reaches here by tcp and udp, within ", " ms"));
}

BOOST_AUTO_TEST_CASE(doctor_names_the_direction_that_a_firewall_drops) {
  other.run("nft add table inet wall");
  other.run("nft 'add chain inet wall incoming { type filter hook input priority 0; }'");
  other.run("nft 'add rule inet wall incoming tcp flags & (syn | ack) == syn tcp dport != 2200 drop'");
  const auto result = doctor();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.last().starts_with("doctor: 2 hosts, 1 problem, "), result.last());
  BOOST_TEST(has_line(result.lines, "  problem  network    here (10.77.0.1) does not reach there (10.77.0.2:295",
                      ") by tcp: no answer"));
  BOOST_TEST(
      has_line(result.lines,
               "                      a firewall, or address translation, lets only the other direction through: "
               "let tcp and udp to ports 29500-29509 from 10.77.0.1 through at there; or set host.address of there to ",
               ""));
  BOOST_TEST(has_line(result.lines, "  ok       network    reaches here by tcp and udp, within ", " ms"));
}

BOOST_AUTO_TEST_CASE(doctor_says_that_heartbeats_need_udp) {
  other.run("nft add table inet wall");
  other.run("nft 'add chain inet wall incoming { type filter hook input priority 0; }'");
  other.run("nft 'add rule inet wall incoming meta l4proto udp reject'");
  const auto result = doctor();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(has_line(result.lines, "  problem  network    here (10.77.0.1) does not reach there (10.77.0.2:295",
                      ") by udp: refused"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
