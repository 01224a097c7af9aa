// `troupe up` with real processes: how interrupts, closed outputs and the end of a terminal end a run.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "node/control/control_client.h"
#include "node/environment.h"
#include "node/file_descriptor.h"
#include "node/launch/child_process.h"
#include "node/launch/log_backlog.h"
#include "node/launch/process_guard.h"
#include "tests/node/launch/launcher_runs.h"

namespace troupe::testing {
namespace {

BOOST_FIXTURE_TEST_SUITE(launcher_ends, RunDirectory)

BOOST_AUTO_TEST_CASE(an_interrupt_stops_in_reverse_order) {
  for (const int signal : {SIGINT, SIGTERM}) {
    auto run = up(role("ps", kPolite) + role("trainer", kPolite, "count = 2"));
    for (int i = 0; i < 3; ++i) run.wait_for("ready");
    run.signal(signal);
    const auto result = run.finish();
    BOOST_TEST(result.status == 128 + signal);
    const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
    expect_lines({result.lines.end() - 5, result.lines.end()},
                 {"[troupe] " + name + ": stopping 3 nodes, again to kill", "[trainer/1] bye", "[trainer/0] bye",
                  "[ps] bye", "[troupe] ended by " + name});
    BOOST_TEST(run.all_gone());
  }
}

BOOST_AUTO_TEST_CASE(a_second_interrupt_kills) {
  auto run = up(role("ps", kStubborn, "count = 2"));
  run.wait_for("ready");
  run.wait_for("ready");
  run.signal(SIGINT);
  run.wait_for("[troupe] SIGINT: stopping 2 nodes, again to kill");
  run.signal(SIGINT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  BOOST_TEST(with(result.lines, "[troupe] SIGINT: killing 2 nodes").size() == 1u);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_stop_in_time_is_killed) {
  auto run = up(role("ps", kPolite) + role("trainer", kStubborn), {"--set", "cluster.shutdown_timeout=1ms"});
  run.wait_for("ready");
  run.wait_for("ready");
  run.signal(SIGTERM);
  const auto result = run.finish();
  BOOST_TEST(result.status == 143);
  expect_lines(with(result.lines, "did not end"), {"[trainer] did not end within 501 ms of SIGTERM: killed"});
  expect_lines(with(result.lines, "bye"), {"[ps] bye"});
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(nothing_outlives_a_launcher_that_is_killed) {
  // The node, its child and its grandchild. All of them ignore every signal but SIGKILL.
  auto run = up(role("ps", "trap '' TERM HUP INT; sh -c 'sleep 1000 & echo ready; wait' & wait", "count = 3"));
  for (int i = 0; i < 3; ++i) run.wait_for("ready");
  run.signal(SIGKILL);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(what_a_node_leaves_behind_ends_with_it) {
  auto run = up(role("ps", "trap '' TERM HUP; sleep 1000 & echo started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(all_that_a_node_prints_arrives_and_is_kept_in_its_log) {
  auto run = up(role("ps", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; printf end"),
                {"--log-dir", "logs/new"});
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(with(result.lines, "[ps] line ").size() == 20000u);
  BOOST_TEST(result.last() == "[ps] end");
  const std::string log = read("logs/new/ps.log");
  BOOST_TEST(log.starts_with("line 0\nline 1\n"));
  BOOST_TEST(log.ends_with("line 19999\nend"));
}

// Prints 4 MiB on both streams, and is done then.
const std::string kFloods = "yes 0123456789 | head -c 2097150; yes 0123456789 | head -c 2097150 >&2; touch done; ";

/// Returns the number of lines that `lines` count as dropped.
std::size_t dropped(const std::vector<std::string>& lines) {
  std::size_t count = 0;
  for (const std::string& line : with(lines, "dropped: the reader is slower than they came")) {
    std::string number = line.substr(sizeof("[troupe] ") - 1);
    number.resize(number.find(' '));
    std::erase(number, ',');
    count += std::stoul(number);
  }
  return count;
}

BOOST_AUTO_TEST_CASE(a_reader_that_does_not_read_stalls_no_node_and_is_told_what_it_missed) {
  auto run = up(role("ps", "echo ready; " + kFloods + "echo the last line"), {"--log-dir", "logs"});
  run.wait_for("ready");
  BOOST_TEST_REQUIRE(appears("done"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(with(result.lines, "[ps] the last line").size() == 1u);
  BOOST_TEST(dropped(result.lines) > 0u);
  BOOST_TEST(dropped(result.lines) + with(result.lines, "[ps] 0123456789").size() == 2 * 190650u);  // 2097150 / 11
  BOOST_TEST(read("logs/ps.log").size() == sizeof("ready") + 2 * 2097150 + sizeof("the last line"));
}

/// Returns once the launcher has taken the signals that were sent before.
void await_turn(const std::string& line_with_id) {
  const ControlName name{after(line_with_id, "id "), ""};
  BOOST_TEST_REQUIRE(ask({{name, "nodes"}}, std::chrono::seconds(5)).at(0).ok());
}

// It is as much as waits for a reader, and the node has ended before that has had its time.
BOOST_AUTO_TEST_CASE(a_reader_gets_all_lines_of_nodes_that_have_ended_however_late_it_reads) {
  auto run = up(role("ps", "echo id $TROUPE_CLUSTER_ID; yes 0123456789 | head -c 836000; touch done"));
  const std::string id = run.wait_for("[ps] id ");
  BOOST_TEST_REQUIRE(appears("done"));
  const auto due = std::chrono::steady_clock::now() + 2 * detail::LogBacklog::kPatience;
  while (std::chrono::steady_clock::now() < due) await_turn(id);
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(dropped(result.lines) == 0u);
  BOOST_TEST(with(result.lines, "[ps] 0123456789").size() == 76000u);
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_a_run_whose_reader_does_not_read) {
  auto run = up(role("ps", kFloods + "trap 'exit 0' TERM; while :; do sleep 0.01; done"));
  BOOST_TEST_REQUIRE(appears("done"));
  run.signal(SIGINT);
  BOOST_TEST(run.exit_status() == 130);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_away_ends_the_run) {
  auto run = up(role("ps", "echo ready; while :; do echo more; done"));
  run.wait_for("ready");
  run.close_output();
  BOOST_TEST(run.finish().status == 128 + SIGPIPE);
  BOOST_TEST(run.all_gone());
}

// Its clean-up takes until the file "go" is there, and leaves the file "clean".
const std::string kCleansUp =
    "trap 'echo cleaning; until [ -e go ]; do sleep 0.01; done; touch clean; exit 0' TERM; echo ready; "
    "while :; do sleep 0.01; done";

BOOST_AUTO_TEST_CASE(an_output_that_closes_with_an_interrupt_leaves_nodes_their_time) {
  for (const int signal : {SIGINT, SIGHUP}) {
    auto run = up(role("ps", kCleansUp) + role("talker", "trap '' TERM; echo ready; while :; do echo more; done"),
                  {"--set", "cluster.shutdown_timeout=2s"});
    run.wait_for("[ps] ready");
    run.signal(signal);
    run.wait_for(": stopping 2 nodes, again to kill");
    run.close_output();
    std::ofstream(path() / "go") << "";
    BOOST_TEST(run.finish().status == 128 + signal);
    BOOST_TEST(std::filesystem::exists(path() / "clean"));
    BOOST_TEST(run.all_gone());
    std::filesystem::remove(path() / "clean");
    std::filesystem::remove(path() / "go");
  }
}

// As kCleansUp; says the id of its cluster first.
const std::string kCleansUpOfCluster = "echo id $TROUPE_CLUSTER_ID; " + kCleansUp;

BOOST_AUTO_TEST_CASE(hang_ups_and_what_comes_with_them_leave_nodes_their_time) {
  struct Case {
    std::vector<int> first;  // at once
    std::string said;
  };
  for (const Case& one : {Case{{SIGHUP}, "SIGHUP"}, Case{{SIGTERM, SIGHUP}, "SIGTERM"}}) {
    auto run = up(role("ps", kCleansUpOfCluster));
    const std::string id = run.wait_for("[ps] id ");
    run.wait_for("[ps] ready");
    run.signal(SIGSTOP);
    for (const int signal : one.first) run.signal(signal);
    run.signal(SIGCONT);
    run.wait_for("[troupe] " + one.said + ": stopping 1 node, again to kill");
    run.signal(SIGHUP);
    await_turn(id);
    std::ofstream(path() / "go") << "";
    const auto result = run.finish();
    BOOST_TEST(result.last() == "[troupe] ended by " + one.said);
    expect_lines(with(result.lines, "killing"), {});
    BOOST_TEST(std::filesystem::exists(path() / "clean"));
    std::filesystem::remove(path() / "clean");
    std::filesystem::remove(path() / "go");
  }
}

BOOST_AUTO_TEST_CASE(a_hang_up_after_an_output_that_closed_leaves_nodes_their_time) {
  auto run = up(role("ps", kCleansUpOfCluster) +
                role("talker", "trap 'touch told; exit 0' TERM; while :; do echo more; done"));
  const std::string id = run.wait_for("[ps] id ");
  run.wait_for("[ps] ready");
  run.close_output();
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!std::filesystem::exists(path() / "told") && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  run.signal(SIGHUP);
  await_turn(id);
  std::ofstream(path() / "go") << "";
  BOOST_TEST(run.finish().status == 128 + SIGPIPE);
  BOOST_TEST(std::filesystem::exists(path() / "clean"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_reader_of_both_outputs_that_goes_away_interrupts_once) {
  auto run = up(role("ps", kCleansUp) + role("talker", "trap '' TERM; while :; do echo out; echo err >&2; done"),
                {"--set", "cluster.shutdown_timeout=2s"});
  run.wait_for("[ps] ready");
  run.wait_for("[talker] err");
  std::ofstream(path() / "go") << "";
  run.close_output();
  BOOST_TEST(run.finish().status == 128 + SIGPIPE);
  BOOST_TEST(std::filesystem::exists(path() / "clean"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_run_under_nohup_survives_the_end_of_its_terminal) {
  const auto before = ::signal(SIGHUP, SIG_IGN);  // as nohup does; the program inherits it
  auto run = up(role("ps", "echo ready; until [ -e go ]; do sleep 0.01; done; echo went on"));
  ::signal(SIGHUP, before);
  run.wait_for("ready");
  run.signal(SIGHUP);
  std::ofstream(path() / "go") << "";
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.last() == "[ps] went on");
}

/// Returns the flags of the open file that is the standard output of process `pid`.
int mode_of_output(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/fdinfo/1");
  std::string word;
  while (file >> word && word != "flags:") {
  }
  int flags = O_NONBLOCK;
  file >> std::oct >> flags;
  return flags;
}

// Nothing reads its output, as behind an ssh that stalls.
BOOST_AUTO_TEST_CASE(a_terminal_that_is_full_keeps_a_launcher_from_nothing) {
  const detail::FileDescriptor near_end(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  BOOST_TEST_REQUIRE((near_end.is_open() && grantpt(near_end.get()) == 0 && unlockpt(near_end.get()) == 0));
  const std::string terminal = ptsname(near_end.get());
  const detail::FileDescriptor far_end(::open(terminal.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  std::ofstream(path() / "cluster.toml") << role("ps", "while :; do echo more; done");
  detail::ChildSpec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", "exec " TROUPE_PROGRAM " up cluster.toml >" + terminal + " 2>&1"};
  spec.environment = process_variables();
  spec.working_dir = path();
  const detail::ProcessGuard guard;
  detail::ChildProcess launcher(spec, std::span<const std::byte>(), guard);
  const auto in_time = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(30); };
  auto due = in_time();
  pollfd full{far_end.get(), POLLOUT, 0};
  while (::poll(&full, 1, 0) == 1 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST_REQUIRE(full.revents == 0);
  BOOST_TEST((mode_of_output(launcher.pid()) & O_NONBLOCK) == 0);  // the shell has the same open file
  std::optional<ExitStatus> end;
  due = in_time();
  while (!end && std::chrono::steady_clock::now() < due) {
    launcher.send(SIGTERM);
    std::this_thread::yield();
    end = launcher.try_end();
  }
  BOOST_TEST(end.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
