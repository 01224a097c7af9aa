// The demo on three hosts behind a switch, with keys: each host has namespaces of its own, and is reached by ssh.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "tests/chaos/delayed_wire.h"
#include "tests/chaos/network_namespace.h"
#include "tests/chaos/ssh_host.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using boost::unit_test::label;
using boost::unit_test::precondition;
using namespace std::chrono_literals;

constexpr const char* kTrainer = TRAINER "\", \"--examples\", \"3200\", \"--epochs\", \"1";
constexpr const char* kDone = "Training complete! 50 of 50 steps accepted";  // 3200 / 32 / 2
constexpr double kAccuracy = 30;  // per cent, as for the sample's own test: tests/samples/CMakeLists.txt

/// Machines 10.77.0.1 to 10.77.0.4, and fd77::1 to fd77::4.
struct FourMachines {
  FourMachines() { join_by_switch(hub, machines); }

  NetworkNamespace hub;
  std::array<NetworkNamespace, 4> machines;
};

/// This thread is on the first machine, where `troupe up` runs. The others are h2, h3 and h4, with ps, trainer0 and
/// trainer1.
struct ThreeHosts : FourMachines {
  /// Hosts are reached, and listen, at addresses of `network`.
  [[nodiscard]] TroupeRun up(const std::string& cluster, const std::string& network = "10.77.0.") const {
    std::ofstream out(directory.path() / "cluster.toml");
    out << "[cluster]\nname = \"digits\"\nresult = \"trainer0\"\n" << cluster;
    for (int i = 2; i <= 4; ++i) {
      out << fmt::format("[[host]]\nname = \"h{0}\"\nagent = {1}\n", i,
                         login.agent_at(fmt::format("{}{}", network, i)));
    }
    out << fmt::format(
        "[[role]]\nname = \"ps\"\ncommand = [\"{}\"]\non_exit = \"keep_going\"\n"
        "[[role]]\nname = \"trainer\"\ncount = 2\ncommand = [\"{}\"]\non_exit = \"keep_going\"\n",
        PARAMETER_SERVER, kTrainer);
    out.close();
    return TroupeRun(directory.path(), {"up", "cluster.toml"}, 60s);
  }

  /// Of the wires of all hosts, both ways.
  void limit_packets(std::uint32_t bytes) const {
    for (std::size_t i = 0; i < machines.size(); ++i) {
      hub.limit_packets(fmt::format("port{}", i + 1), bytes);
      machines[i].limit_packets("wire", bytes);
    }
  }
  void limit_rate(std::uint32_t mbit_per_second) const {
    for (std::size_t i = 0; i < machines.size(); ++i) {
      hub.limit_rate(fmt::format("port{}", i + 1), mbit_per_second);
      machines[i].limit_rate("wire", mbit_per_second);
    }
  }

  TemporaryDirectory directory;
  NetworkNamespace::Inside here{machines[0]};
  SshLogin login{directory.path()};
  SshHost h2{machines[1], login, "h2", {"10.77.0.2", "fd77::2"}};
  SshHost h3{machines[2], login, "h3", {"10.77.0.3", "fd77::3"}};
  SshHost h4{machines[3], login, "h4", {"10.77.0.4", "fd77::4"}};
};

std::ptrdiff_t lines_with(const std::vector<std::string>& lines, std::string_view begin, std::string_view text) {
  return std::ranges::count_if(
      lines, [&](const std::string& line) { return line.starts_with(begin) && line.find(text) != std::string::npos; });
}

void check_accuracy(const std::string& line) {
  const std::string_view begin = "test accuracy: ";
  BOOST_TEST_REQUIRE(line.starts_with(begin), line);
  BOOST_TEST(std::stod(line.substr(begin.size())) >= kAccuracy, line);
}

/// Checks that every step of both trainers was taken, that all output came, and that nobody complained.
void check_demo(const TroupeRun::Result& result) {
  std::string all;
  for (const std::string& line : result.lines) all += line + "\n";
  BOOST_TEST_CONTEXT(all) {
    BOOST_TEST(result.status == 0);
    for (const char* trainer : {"[trainer/0] ", "[trainer/1] "}) {
      for (int step = 5; step <= 50; step += 5) {
        BOOST_TEST(lines_with(result.lines, trainer, fmt::format(" {}/50 ", step)) == 1);
      }
      BOOST_TEST(lines_with(result.lines, trainer, kDone) == 1);
    }
    for (const char* complaint : {" warning ", " error ", " is gone", "peer_down", "lost"}) {
      BOOST_TEST(lines_with(result.lines, "", complaint) == 0, complaint);
    }
    check_accuracy(result.last());
  }
}

BOOST_TEST_DECORATOR(*label("chaos") * label("privileged") * precondition(NeedsSshd{}))
BOOST_FIXTURE_TEST_SUITE(three_hosts, ThreeHosts)

BOOST_AUTO_TEST_CASE(a_host_that_is_cut_off_for_less_than_the_lease_loses_nothing) {
  auto run = up("");
  run.wait_for("[trainer/1] training 5/50 ");
  hub.run("ip link set port4 down");
  run.lines_within(1s);  // what was on its way
  BOOST_TEST(lines_with(run.lines_within(4s), "[trainer/1]", "") == 0);
  hub.run("ip link set port4 up");
  check_demo(run.finish());
}

BOOST_AUTO_TEST_CASE(a_trainer_whose_host_is_cut_off_for_good_is_named_and_the_others_finish) {
  auto run = up("lease = \"3s\"\n");
  run.wait_for("[trainer/1] training 5/50 ");
  const HostEnd end(h4);
  hub.run("ip link set port4 down");
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(lines_with(result.lines, "[host h4] no word from its agent for 3000 ms", "") == 1);
  BOOST_TEST(lines_with(result.lines, "[ps] ", "trainer1 is gone: nothing heard for ") == 1);
  BOOST_TEST(lines_with(result.lines, "[trainer/0] ", "trainer1 is gone: nothing heard for ") == 1);
  BOOST_TEST(lines_with(result.lines, "[trainer/0] ", kDone) == 1);
  BOOST_TEST(result.last().starts_with("[trainer/1] lost with its host, pid "), result.last());
  BOOST_TEST(end.comes());
}

BOOST_AUTO_TEST_CASE(trainers_say_which_peer_is_down_when_the_servers_host_is_cut_off_for_good) {
  auto run = up("lease = \"3s\"\n");
  run.wait_for("[trainer/1] training 5/50 ");
  const HostEnd end(h2);
  hub.run("ip link set port2 down");
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(lines_with(result.lines, "[host h2] no word from its agent for 3000 ms", "") == 1);
  for (const char* trainer : {"[trainer/0] ", "[trainer/1] "}) {
    BOOST_TEST(lines_with(result.lines, trainer, "ps: peer_down: nothing heard for ") == 1);
    BOOST_TEST(lines_with(result.lines, trainer, kDone) == 0);
  }
  BOOST_TEST(end.comes());
}

BOOST_AUTO_TEST_CASE(demo_runs_over_ipv6_with_small_packets_on_slow_wires) {
  limit_packets(1280);
  limit_rate(20);
  check_demo(up("", "fd77::").finish());
  const std::string limit = hub.run("tc -statistics qdisc show dev port2");  // to the server, whom both send images
  BOOST_TEST(limit.find("overlimits ") != std::string::npos, limit);
  BOOST_TEST(limit.find("overlimits 0 ") == std::string::npos, limit);
}

BOOST_AUTO_TEST_CASE(demo_runs_with_large_packets_over_a_long_wire, *precondition(NeedsDelayedWire{})) {
  const DelayedWire wire(hub, machines[3], 4, 10ms);
  limit_packets(9000);
  auto run = up("");
  run.wait_for("[trainer/1] training 5/50 ");
  const std::string connections = machines[3].run("ss --no-header --tcp --numeric --info");
  const std::string_view word = "minrtt:";
  const auto at = connections.find(word);
  BOOST_TEST_REQUIRE(at != std::string::npos, connections);
  BOOST_TEST(std::stod(connections.substr(at + word.size())) >= 20, connections);  // ms
  check_demo(run.finish());
}

BOOST_AUTO_TEST_CASE(
    variables_of_torchrun_and_keys_in_files_run_the_demo_over_ipv6_with_packets_as_large_as_there_are) {
  limit_packets(65535);
  const std::string keys = (directory.path() / "keys").string();
  machines[0].run(fmt::format("{0} keys init-cluster {1} && {0} keys new-node --dir {1} ps trainer0 trainer1",
                              TROUPE_PROGRAM, keys));
  const auto start = [&](int rank, const std::string& name, const std::string& command) {
    const std::string line = fmt::format(
        "ssh -F {} fd77::{} MASTER_ADDR=fd77::2 MASTER_PORT=29500 WORLD_SIZE=3 RANK={} TROUPE_NODE={} "
        "TROUPE_KEY_FILE={}/nodes/{}.key TROUPE_MATH_THREADS=1 timeout -k 1 60 {}",
        login.config().string(), rank + 2, rank, name, keys, name, command);
    return std::async(std::launch::async, [this, line] { return machines[0].run(line); });
  };
  auto server = start(0, "ps", PARAMETER_SERVER);
  auto first = start(1, "trainer0", TRAINER " --examples 3200 --epochs 1");
  auto second = start(2, "trainer1", TRAINER " --examples 3200 --epochs 1");
  for (auto* trainer : {&first, &second}) {
    const std::string said = trainer->get();
    BOOST_TEST(said.find(kDone) != std::string::npos, said);
    const auto last = said.rfind("test accuracy: ");
    BOOST_TEST_REQUIRE(last != std::string::npos, said);
    check_accuracy(said.substr(last));
  }
  BOOST_TEST(server.get() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
