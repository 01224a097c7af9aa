// `troupe up` over hosts: how nodes end, and what is told of it, while their host starts, is slow or says nothing.
#include <signal.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "tests/node/launch/launcher_runs.h"

namespace troupe::testing::ends_on_hosts {
namespace {

using namespace troupe::detail;

const std::string kTrueAgent = "exec " TROUPE_PROGRAM " agent";

/// Returns a [[host]] on this machine whose agent is started by `script`.
std::string host(const std::string& name, const std::string& address, const std::string& script) {
  return "[[host]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nagent = [\"sh\", \"-c\", '''" + script +
         "''']\n";
}

std::string frame_of_node(AgentFrameKind kind, const std::string& rest = "") {
  return encode_frame(kind, std::string(4, '\0') + rest);
}

struct Directory : RunDirectory {
  TroupeRun up_on_loopback(const std::string& text, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--set", "cluster.network=loopback"});
    return up(text, more);
  }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() / name, std::ios::binary) << bytes;
  }

  /// Returns a host "b" of one node that says it has started once there is a file "go", and that the node has ended
  /// with `wait_status` once there is "told".
  std::string host_that_is_late(std::uint32_t wait_status = 0, const std::string& end = "wait") {
    write("welcome", std::string(kAgentGreeting) +
                         encode_frame(AgentFrameKind::welcome, json_of(AgentWelcome{TROUPE_VERSION, "b", 1})));
    write("prepared", encode_frame(AgentFrameKind::prepared, json_of(AgentPrepared{})));
    write("started", encode_frame(AgentFrameKind::started, json_of(AgentStarted{{1}})));
    std::string status;
    put_u32(status, wait_status);
    write("ended", frame_of_node(AgentFrameKind::exited, status + '\0') + frame_of_node(AgentFrameKind::ended));
    return host(
        "b", "127.0.0.3",
        "cat welcome; head -c 1 >/dev/null; cat prepared; exec 3<&0; cat <&3 >orders & "
        "until [ -e go ]; do sleep 0.01; done; cat started; until [ -e told ]; do sleep 0.01; done; cat ended; " +
            end);
  }

  /// Returns whether that host is told to send `signal` to its node, within 5 s.
  bool is_told(std::uint32_t signal) {
    std::string number;
    put_u32(number, signal);
    const std::string order = frame_of_node(AgentFrameKind::signal, number);
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (read("orders").find(order) == std::string::npos) {
      if (std::chrono::steady_clock::now() >= due) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(remote_host_ends, Directory)

BOOST_AUTO_TEST_CASE(a_node_is_told_to_stop_also_while_its_host_starts) {
  auto run = up_on_loopback(host("a", "127.0.0.2", kTrueAgent) + host_that_is_late() +
                            role("bad", "exit 7", "hosts = [\"a\"]") + role("good", "", "hosts = [\"b\"]"));
  run.wait_for("[bad] exit status 7, pid ");
  BOOST_TEST(is_told(SIGTERM));
  write("go", "");
  write("told", "");
  const auto result = run.finish();
  BOOST_TEST(result.status == 7);
  BOOST_TEST(with(result.lines, "did not end").empty());
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(an_interrupt_leaves_nodes_their_time_also_while_another_host_starts) {
  auto run = up_on_loopback(host("a", "127.0.0.2", kTrueAgent) + host_that_is_late() +
                            role("first", kPolite, "hosts = [\"a\"]") + role("second", "", "hosts = [\"b\"]"));
  run.wait_for("[first] ready");
  run.signal(SIGINT);
  BOOST_TEST(is_told(SIGTERM));
  write("go", "");
  write("told", "");
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(with(result.lines, "[first] bye").size() == 1u);
  BOOST_TEST(with(result.lines, "started in").empty());
  BOOST_TEST(result.last() == "[troupe] ended by SIGINT");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_second_interrupt_does_not_wait_for_a_host_that_starts) {
  auto run = up_on_loopback(host("a", "127.0.0.2", kTrueAgent) + host_that_is_late() +
                            role("first", kPolite, "hosts = [\"a\"]") + role("second", "", "hosts = [\"b\"]"));
  run.wait_for("[first] ready");
  run.signal(SIGINT);
  run.wait_for("stopping 2 nodes");
  run.signal(SIGINT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(with(result.lines, "killing").size() == 1u);
  BOOST_TEST(run.all_gone());
}

// As while debugging: there is no lease.
BOOST_AUTO_TEST_CASE(a_second_interrupt_does_not_wait_for_a_host_that_says_nothing) {
  auto run = up_on_loopback("[cluster]\ndebug = true\n" + host("a", "127.0.0.2", kTrueAgent) + host_that_is_late() +
                            role("first", kPolite, "hosts = [\"a\"]") + role("second", "", "hosts = [\"b\"]"));
  run.wait_for("[first] ready");
  write("go", "");
  run.wait_for("started in");
  run.signal(SIGINT);
  run.wait_for("stopping 2 nodes");
  run.signal(SIGINT);
  run.wait_for("killing");
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(with(result.lines, "[host b] it has not said that its nodes were killed").size() == 1u);
  BOOST_TEST(result.last() == "[troupe] ended by SIGINT");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_node_that_ended_in_time_and_is_heard_of_late_is_not_said_to_have_been_killed) {
  for (const std::uint32_t status : {0, SIGKILL}) {
    for (const char* word : {"go", "told", "orders"}) std::filesystem::remove(path() / word);
    auto run = up_on_loopback("[cluster]\nshutdown_timeout = \"1ms\"\n" + host("a", "127.0.0.2", kTrueAgent) +
                              host_that_is_late(status) + role("first", kPolite, "hosts = [\"a\"]") +
                              role("second", "", "hosts = [\"b\"]"));
    run.wait_for("[first] ready");
    write("go", "");
    run.wait_for("started in");
    run.signal(SIGINT);
    BOOST_TEST(is_told(SIGKILL));
    write("told", "");
    const auto result = run.finish();
    BOOST_TEST(result.status == 130);
    const std::string killed = "[second] did not end within 501 ms of SIGTERM: killed";
    BOOST_TEST(with(result.lines, killed).size() == (status == SIGKILL ? 1u : 0u));
    BOOST_TEST(run.all_gone());
  }
}

// Its last line may be the result, and does not come.
BOOST_AUTO_TEST_CASE(output_that_is_lost_with_its_host_after_the_end_of_its_node_is_a_failure) {
  const std::string late = host_that_is_late(0, "exit 255");
  write("ended", frame_of_node(AgentFrameKind::output, '\0' + std::string("loss 5\n")) +
                     frame_of_node(AgentFrameKind::exited, std::string(4, '\0') + '\1'));
  auto run = up_on_loopback("[cluster]\nresult = \"second\"\n" + host("a", "127.0.0.2", kTrueAgent) + late +
                            role("first", "", "hosts = [\"a\"]") + role("second", "", "hosts = [\"b\"]"));
  write("go", "");
  run.wait_for("started in");
  write("told", "");
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(with(result.lines, "loss 5").size() == 1u);  // and not again as the result
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_only_output_is_to_come_ends_the_run) {
  const std::string late = host_that_is_late();
  write("ended", frame_of_node(AgentFrameKind::output, '\0' + std::string("loss 5\n")) +
                     frame_of_node(AgentFrameKind::exited, std::string(4, '\0') + '\1'));
  auto run = up_on_loopback("[cluster]\nresult = \"second\"\nshutdown_timeout = \"1ms\"\n" +
                            host("a", "127.0.0.2", kTrueAgent) + late + role("first", "", "hosts = [\"a\"]") +
                            role("second", "", "hosts = [\"b\"]"));
  write("go", "");
  run.wait_for("started in");
  write("told", "");
  run.wait_for("[second] loss 5");
  run.signal(SIGINT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(result.last() == "[troupe] ended by SIGINT");
  BOOST_TEST(run.all_gone());
}

// A connection that carries the first words, and then nothing until there is a file "go".
const std::string kStalls =
    TROUPE_PROGRAM " agent | { dd bs=1 count=3000 2>/dev/null; until [ -e go ]; do sleep 0.01; done; exec cat; }";

// Its peer fails because of the crash, and that is heard of first.
BOOST_AUTO_TEST_CASE(a_crash_behind_a_slow_connection_is_the_first_failure) {
  auto run = up_on_loopback(
      host("a", "127.0.0.2", kTrueAgent) + host("b", "127.0.0.3", kStalls) +
      role("peer", "until [ -e pid ]; do sleep 0.01; done; while [ -e /proc/$(cat pid) ]; do sleep 0.01; done; exit 1",
           "hosts = [\"a\"]") +
      role("crasher", "yes | head -c 1000000; echo $$ >new; mv new pid; kill -SEGV $$", "hosts = [\"b\"]"));
  run.wait_for("[peer] exit status 1, pid ");
  write("go", "");
  const auto result = run.finish();
  BOOST_TEST(result.status == 139);
  BOOST_TEST(result.last().starts_with("[crasher] killed by signal 11 (SIGSEGV), pid "));
  BOOST_TEST(result.last().ends_with("; its last line: y"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing::ends_on_hosts
