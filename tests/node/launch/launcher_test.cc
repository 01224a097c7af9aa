// `troupe up` with real processes: its output, the order in which it ends them, and that none of them is left.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/control/control_client.h"
#include "node/environment.h"
#include "node/launch/child_process.h"
#include "node/launch/process_guard.h"
#include "tests/node/launch/launcher_runs.h"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns the lowest number that is no descriptor of process `pid`.
rlim_t lowest_unused(pid_t pid) {
  rlim_t number = 0;
  while (std::filesystem::exists(
      std::filesystem::symlink_status("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number)))) {
    ++number;
  }
  return number;
}

/// Returns the process that guards the nodes of `launcher`; 0 if there is none.
pid_t guard_of(pid_t launcher) {
  const auto text = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string parent = "\nPPid:\t" + std::to_string(launcher) + "\n";
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (text(entry.path() / "comm") != "troupe-guard\n") continue;
    if (text(entry.path() / "status").find(parent) != std::string::npos) return std::stoi(entry.path().filename());
  }
  return 0;
}

/// Returns whether `bytes` are in memory that process `pid` can write.
bool has_in_memory(pid_t pid, const std::string& bytes) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream maps(process + "/maps");
  std::ifstream memory(process + "/mem", std::ios::binary);
  BOOST_TEST_REQUIRE((maps.is_open() && memory.is_open()));
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" rw") == std::string::npos) continue;
    const std::size_t begin = std::stoull(line, nullptr, 16);
    const std::size_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    if (end - begin > std::size_t{1} << 30) continue;  // of a sanitizer, not of the program
    constexpr std::size_t kPiece = 1 << 20;
    for (std::size_t at = begin; at < end; at += kPiece) {
      std::string found(std::min(kPiece + bytes.size(), end - at), '\0');  // what lies over two pieces is in the first
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(at));
      memory.read(found.data(), static_cast<std::streamsize>(found.size()));
      if (found.find(bytes) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(launcher, RunDirectory)

BOOST_AUTO_TEST_CASE(lines_carry_their_node_and_success_of_all_is_status_0) {
  auto run = up(role("ps", "echo one; echo two >&2") + role("trainer", "echo $TROUPE_INDEX", "count = 2"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  expect_lines(with(result.lines, "[ps] one"), {"[ps] one"});
  expect_lines(with(result.lines, "[ps] two"), {"[ps] two"});
  expect_lines(with(result.lines, "[trainer/0]"), {"[trainer/0] 0"});
  expect_lines(with(result.lines, "[trainer/1]"), {"[trainer/1] 1"});
  BOOST_TEST(with(result.lines, "[troupe] troupe: 3 nodes started in ").size() == 1u);
  BOOST_TEST(result.lines.size() == 5u);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(nodes_with_keys_keep_their_audit_logs_beside_what_they_print, *boost::unit_test::label("S14")) {
  const std::string node = role("ps", "echo audit \"$TROUPE__NODE__AUDIT_LOG\".");
  const std::string with_keys = "[cluster]\ntransport = \"tcp\"\nnetwork = \"keys\"\n";
  const auto said = [&](const std::string& text, std::vector<std::string> more) {
    return with(up(text, std::move(more)).finish().lines, "[ps] audit ");
  };
  const std::string logs = (path() / "logs").string();
  expect_lines(said(with_keys + node, {"--log-dir", "logs"}), {"[ps] audit " + logs + "."});
  expect_lines(said(with_keys + "[node]\naudit_log = \"/a\"\n" + node, {"--log-dir", "logs"}), {"[ps] audit /a."});
  expect_lines(said(with_keys + node, {}), {"[ps] audit ."});
  expect_lines(said(node, {"--log-dir", "logs"}), {"[ps] audit ."});
}

BOOST_AUTO_TEST_CASE(the_result_is_the_very_last_line) {
  auto run = up("[cluster]\nresult = \"trainer1\"\n" + role("ps", "mkfifo done; read x <done; echo served; sleep 0") +
                role("trainer",
                     "[ $TROUPE_INDEX = 0 ] || { echo 'test accuracy: 97.50 %'; echo warning >&2; "
                     "until [ -p done ]; do :; done; echo >done; }",
                     "count = 2"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.last() == "test accuracy: 97.50 %");
  BOOST_TEST(with(result.lines, "test accuracy").size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_first_failure_is_the_last_line_and_gives_the_status) {
  auto run =
      up(role("ps", kPolite) + role("trainer", "until [ -e go ]; do :; done; echo working; echo broken >&2; exit 3") +
         role("other", kPolite));
  run.wait_for("[ps] ready");
  run.wait_for("[other] ready");
  std::ofstream(path() / "go") << "";
  const auto result = run.finish();
  BOOST_TEST(result.status == 3);
  BOOST_TEST_REQUIRE(result.lines.size() > 5u);
  const std::string first_line = with(result.lines, "[trainer] exit status 3, pid ").at(0);
  const std::string pid = after(first_line, "pid ");
  expect_lines({result.lines.end() - 5, result.lines.end()},
               {"[trainer] exit status 3, pid " + pid, "[troupe] stopping 2 other nodes", "[other] bye", "[ps] bye",
                "[trainer] exit status 3, pid " + pid + "; its last line: broken"});
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_lone_failure_is_said_once) {
  auto run = up(role("ps", "exit 7"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 7);
  BOOST_TEST(with(result.lines, "exit status 7").size() == 1u);
  BOOST_TEST(result.last().starts_with("[ps] exit status 7, pid "));
}

BOOST_AUTO_TEST_CASE(a_killed_node_ends_the_run_with_128_and_its_signal) {
  auto run = up(role("ps", kPolite) + role("trainer", "echo pid $$; sleep 1000", "count = 2"));
  run.wait_for("[ps] ready");
  const std::string pid = after(run.wait_for("[trainer/1] pid "), "pid ");
  kill(std::stoi(pid), SIGKILL);
  const auto result = run.finish();
  BOOST_TEST(result.status == 137);
  BOOST_TEST(result.last() == "[trainer/1] killed by signal 9 (SIGKILL), pid " + pid + "; its last line: pid " + pid);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(others_go_on_when_a_node_fails_that_may) {
  auto run = up(role("ps", "mkfifo go; echo ready; read x <go; echo went on") +
                role("trainer", "echo pid $$; sleep 1000", "on_exit = \"keep_going\""));
  run.wait_for("[ps] ready");
  const std::string pid = after(run.wait_for("[trainer] pid "), "pid ");
  kill(std::stoi(pid), SIGKILL);
  run.wait_for("[trainer] killed by signal 9 (SIGKILL), pid " + pid);
  std::ofstream(path() / "go") << "\n";
  const auto result = run.finish();
  BOOST_TEST(result.status == 137);
  BOOST_TEST(result.lines.at(result.lines.size() - 2) == "[ps] went on");
  BOOST_TEST(result.last() == "[trainer] killed by signal 9 (SIGKILL), pid " + pid + "; its last line: pid " + pid);
}

BOOST_AUTO_TEST_CASE(a_node_finds_its_secret_once_and_no_other_descriptor) {
  // 3 is the descriptor that this test passes down itself; od reads one byte more than exists.
  auto run =
      up(role("ps",
              "fds=; i=0; while [ $i -lt 64 ]; do [ -e /proc/$$/fd/$i ] && fds=\"$fds $i\"; i=$((i+1)); done; "
              "echo fds$fds secret $TROUPE_SECRET_FD; "
              "echo key $(od -An -v -tx1 -N33 <&$TROUPE_SECRET_FD); echo again $(cat <&$TROUPE_SECRET_FD | wc -c); "
              "readlink /proc/$$/fd/0",
              "count = 2"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  const auto fds = with(result.lines, "fds ");
  BOOST_TEST_REQUIRE(fds.size() == 2u);
  for (const std::string& line : fds) {
    const std::string number = after(line, "secret ");
    BOOST_TEST(after(line, "fds ") == "0 1 2 3 " + number + " secret " + number);
  }
  const auto keys = with(result.lines, "key ");
  BOOST_TEST_REQUIRE(keys.size() == 2u);
  BOOST_TEST(after(keys[0], "key ") == after(keys[1], "key "));
  BOOST_TEST(after(keys[0], "key ").size() == 32u * 3 - 1);  // "aa bb ..."
  BOOST_TEST(with(result.lines, "again 0").size() == 2u);
  BOOST_TEST(with(result.lines, "/dev/null").size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_node_finds_its_keys_once_and_they_are_its_own) {
  auto run = up("[cluster]\ntransport = \"tcp\"\nnetwork = \"keys\"\n" +
                role("ps",
                     "od -An -v -tx1 <&$TROUPE_KEYS_FD | tr -d ' \\n' | sed 's/^/ring /'; echo; "
                     "echo again $(cat <&$TROUPE_KEYS_FD | wc -c); echo says $TROUPE__CLUSTER__NETWORK",
                     "count = 2"));
  const auto result = run.finish();
  const auto rings = with(result.lines, "ring ");
  BOOST_TEST_REQUIRE(rings.size() == 2u);
  const std::string first = after(rings[0], "ring ");
  const std::string second = after(rings[1], "ring ");
  BOOST_TEST(first.size() == 2u * (48 + 2 * (1 + 3 + 32)));   // two hexadecimal digits a byte: head, "ps0", "ps1"
  BOOST_TEST(first.substr(0, 16) == "5452504b01000000");      // "TRPK", version 1
  BOOST_TEST(first.substr(16, 64) != second.substr(16, 64));  // the secret keys
  BOOST_TEST(first.substr(96) == second.substr(96));          // the members
  BOOST_TEST(with(result.lines, "again 0").size() == 2u);
  BOOST_TEST(with(result.lines, "says keys").size() == 2u);
}

// With debug, so that this process may read the memory of the launcher's.
BOOST_AUTO_TEST_CASE(the_guard_of_nodes_never_has_their_keys, *boost::unit_test::label("attack")) {
  auto run = up("[cluster]\ntransport = \"tcp\"\nnetwork = \"keys\"\ndebug = true\n" +
                role("ps",
                     "echo launcher $PPID; od -An -v -tx1 <&$TROUPE_KEYS_FD | tr -d ' \\n' | sed 's/^/ring /'; echo; "
                     "until [ -e go ]; do sleep 0.01; done"));
  const pid_t launcher = std::stoi(after(run.wait_for("launcher "), "launcher "));
  const std::string digits = after(run.wait_for("ring "), "ring ").substr(16, 64);
  std::string key;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    key += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  const pid_t guard = guard_of(launcher);
  BOOST_TEST_REQUIRE(guard != 0);
  BOOST_TEST(has_in_memory(getpid(), key));  // the search finds what is there
  BOOST_TEST(!has_in_memory(guard, key));
  std::ofstream(path() / "go") << "";
  BOOST_TEST(run.finish().status == 0);
}

BOOST_AUTO_TEST_CASE(a_node_learns_its_place_from_the_environment) {
  const std::string say =
      "echo $TROUPE_CLUSTER $TROUPE_NODE $TROUPE_ROLE $TROUPE_INDEX $TROUPE_RANK $TROUPE_WORLD; "
      "echo seed $TROUPE_SEED; echo own $TROUPE_ADDRESS; echo id $TROUPE_CLUSTER_ID; "
      "echo maths $TROUPE_MATH_THREADS $OMP_WAIT_POLICY $TROUPE__NODE__LOG_LEVEL $DATA";
  auto run = up("[cluster]\nname = \"mnist\"\n[node]\nmath_threads = 3\nlog_level = \"debug\"\n" + role("ps", "") +
                role("trainer", say, "count = 2\nenv = {DATA = \"digits\"}"));
  const auto lines = run.finish().lines;
  const std::string id = after(with(lines, "[trainer/1] id ").at(0), "id ");
  BOOST_TEST(id.size() == 16u);
  expect_lines(with(lines, "[trainer/1] "),
               {"[trainer/1] mnist trainer1 trainer 1 2 ps,trainer0,trainer1",
                "[trainer/1] seed ipc://@troupe-" + id + "-ps", "[trainer/1] own ipc://@troupe-" + id + "-trainer1",
                "[trainer/1] id " + id, "[trainer/1] maths 3 passive debug digits"});
}

BOOST_AUTO_TEST_CASE(a_node_learns_who_may_call_it) {
  const std::string calls = "calls = {trainer = \"push, pull\", ps = \"*\"}";
  auto run =
      up(role("ps", "echo says $TROUPE_CALLS", calls) + role("trainer", "echo \"says <$TROUPE_CALLS>\"", "count = 2"));
  const auto lines = run.finish().lines;
  expect_lines(with(lines, "[ps] says"), {"[ps] says ps=*;trainer0,trainer1=pull,push"});
  expect_lines(with(lines, "[trainer/1] says"), {"[trainer/1] says <>"});
}

BOOST_AUTO_TEST_CASE(what_cannot_start_is_reported_before_anything_is_started) {
  std::ofstream(path() / "notes.txt") << "no program";
  auto run =
      up("[cluster]\nname = \"mnist\"\n" + role("ps", "touch started") +
         "[[role]]\nname = \"a\"\ncommand = [\"./absent\"]\n[[role]]\nname = \"b\"\ncommand = [\"no-such-program\"]\n"
         "[[role]]\nname = \"c\"\ncommand = [\"./notes.txt\"]\nworking_dir = \"nowhere\"\n");
  const auto result = run.finish();
  BOOST_TEST(result.status == 2);
  const std::string here = path().string();
  expect_lines(result.lines,
               {"cluster.toml:9: role.command: no program \"./absent\" in " + here,
                "cluster.toml:12: role.command: no program \"no-such-program\" in " + here + " or on PATH",
                "cluster.toml:15: role.command: " + here + "/notes.txt is not executable (chmod +x)",
                "cluster.toml:16: role.working_dir: no directory " + here + "/nowhere"});
  BOOST_TEST(!std::filesystem::exists(path() / "started"));
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_run_ends_what_was_started) {
  std::ofstream(path() / "tool") << "#!/no/such/interpreter\n";
  chmod((path() / "tool").c_str(), 0755);
  auto run = up(role("ps", kStubborn) + "[[role]]\nname = \"a\"\ncommand = [\"tool\"]\n");
  const auto result = run.finish();
  BOOST_TEST(result.status == 126);
  BOOST_TEST(result.last() == "[a] cannot start " + path().string() +
                                  "/tool: No such file or directory: its first line names /no/such/interpreter, which "
                                  "is not here: install that or change the line");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_script_with_windows_line_ends_is_named_as_such) {
  std::ofstream(path() / "tool") << "#!/bin/sh\r\necho\r\n";
  chmod((path() / "tool").c_str(), 0755);
  auto run = up("[[role]]\nname = \"a\"\ncommand = [\"tool\"]\n");
  BOOST_TEST(run.finish().last() == "[a] cannot start " + path().string() +
                                        "/tool: No such file or directory: its first line ends in \\r\\n, a "
                                        "script's must end in \\n");
}

BOOST_AUTO_TEST_CASE(programs_and_directories_are_relative_to_the_file) {
  std::filesystem::create_directories(path() / "runs");
  std::ofstream(path() / "tool") << "#!/bin/sh\npwd; echo \"$@\"\n";
  chmod((path() / "tool").c_str(), 0755);
  auto run = up("[[role]]\nname = \"a\"\ncommand = [\"tool\", \"--fast\", \"two words\"]\nworking_dir = \"runs\"\n");
  const auto lines = run.finish().lines;
  expect_lines(with(lines, "[a] "), {"[a] " + path().string() + "/runs", "[a] --fast two words"});
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_one_line) {
  const detail::FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_TEST_REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  BOOST_TEST_REQUIRE(listen(listener.get(), 1) == 0);
  BOOST_TEST_REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  auto run = up("[cluster]\ntransport = \"tcp\"\nport = " + port + "\n" + role("ps", "touch started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 2);
  expect_lines(result.lines,
               {"cluster.toml:3: cluster.port: cannot use port " + port + " of 127.0.0.1: Address already in use"});
  BOOST_TEST(!std::filesystem::exists(path() / "started"));
}

BOOST_AUTO_TEST_CASE(an_address_of_another_machine_is_named_as_such) {
  auto run = up("[cluster]\ntransport = \"tcp\"\naddress = \"192.0.2.7\"\nnetwork = \"trusted\"\n" +  // RFC 5737
                role("ps", "touch started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 2);
  expect_lines(result.lines, {"cluster.toml:3: cluster.address: 192.0.2.7 is no address of this machine"});
  BOOST_TEST(!std::filesystem::exists(path() / "started"));
}

BOOST_AUTO_TEST_CASE(what_is_for_one_node_is_refused_before_any_starts) {
  for (const std::string transport : {"ipc", "tcp"}) {
    auto run = up("[cluster]\ntransport = \"" + transport + "\"\nadvertise = \"router:29500\"\n" +
                  role("ps", "touch started"));
    const auto result = run.finish();
    BOOST_TEST(result.status == 2);
    expect_lines(
        result.lines,
        {"cluster.toml:3: cluster.advertise = \"router:29500\" is for one node, and all nodes would get it; set "
         "it for a node that is started by itself (`troupe node --keys`)"});
    BOOST_TEST(!std::filesystem::exists(path() / "started"));
  }
}

BOOST_AUTO_TEST_CASE(a_file_in_a_directory_that_was_removed_cannot_be_read) {
  for (const std::string command : {"up", "doctor", "config show"}) {
    auto run = up(role("ps", "exec 2>&1; mkdir gone; cd gone; rmdir ../gone; " + std::string(TROUPE_PROGRAM) + " " +
                                 command + " inner.toml; echo status $?"));
    expect_lines(with(run.finish().lines, "[ps]"),
                 {"[ps] inner.toml: cannot read: No such file or directory", "[ps] status 2"});
  }
}

BOOST_AUTO_TEST_CASE(all_errors_of_a_file_are_shown_and_nothing_else) {
  auto run = up("[cluster]\nport = \"x\"\n[[role]]\nname = \"ps\"\ncomand = [\"./ps\"]\n");
  const auto result = run.finish();
  BOOST_TEST(result.status == 2);
  expect_lines(result.lines, {"cluster.toml:2: cluster.port: expected an integer, found string \"x\"",
                              "cluster.toml:3: role.command: missing, e.g. command = [\"./trainer\"]",
                              "cluster.toml:5: role.comand: unknown key, did you mean \"command\"?"});
}

BOOST_AUTO_TEST_CASE(logs_shows_what_was_printed_and_follows_to_the_end) {
  auto run = up("[cluster]\nname = \"talk\"\n" +
                role("ps",
                     "echo one; echo two >&2; until [ -e go ]; do sleep 0.05; done; "
                     "echo three; sleep 0.1; printf last") +
                role("trainer", "echo more; until [ -e go ]; do sleep 0.05; done"));
  run.wait_for("[ps] two");
  run.wait_for("[trainer] more");
  const auto logs = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "logs");
    return TroupeRun(path(), arguments).finish();
  };
  const std::string file = (path() / "cluster.toml").string();
  expect_lines(logs({"ps", file}).lines, {"one", "two"});
  expect_lines(logs({"ps", file, "--lines", "1"}).lines, {"two"});
  const auto all = logs({file}).lines;
  expect_lines(with(all, "[ps]"), {"[ps] one", "[ps] two"});
  expect_lines(with(all, "[trainer]"), {"[trainer] more"});
  expect_lines(logs({"pss", file}).lines,
               {"troupe: no node \"pss\" runs here, did you mean \"ps\"?; there are: ps, trainer"});

  TroupeRun follower(path(), {"logs", "ps", file, "--follow"});
  TroupeRun other(path(), {"logs", file, "--follow", "--lines", "0"});
  follower.wait_for("two");
  std::ofstream(path() / "go") << "";
  const auto followed = follower.finish();
  BOOST_TEST(followed.status == 0);
  expect_lines(followed.lines, {"one", "two", "three", "last"});
  BOOST_TEST(other.finish().status == 0);
  BOOST_TEST(run.finish().status == 0);
  BOOST_TEST(logs({"ps", file}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_node_that_printed_nothing_has_no_last_line) {
  auto run = up("[cluster]\nresult = \"ps\"\n" + role("ps", "exit 0"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  for (const std::string& line : result.lines) BOOST_TEST(!line.empty());
}

BOOST_AUTO_TEST_CASE(stack_tells_a_process_that_is_no_node_from_one_that_does_not_exist) {
  auto run = up(role("w", "echo here; exec sleep 1000", "count = 2\n") +
                role("quick", "echo $$; exit 3", "on_exit = \"keep_going\"\n"));
  run.wait_for("[w/0] here");
  run.wait_for("[w/1] here");
  const std::string pid = after(run.wait_for("[quick] "), "[quick] ");
  run.wait_for("[quick] exit status 3");
  const auto stack = [&](const std::string& node) {
    return TroupeRun(path(), {"stack", node, (path() / "cluster.toml").string()}).finish();
  };
  const auto result = stack("w0");
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.last().starts_with("troupe: w0, pid "));
  BOOST_TEST(result.last().ends_with(": runs, and is no node yet"));
  expect_lines(stack("quick").lines, {"troupe: quick, pid " + pid + ": ended: exit status 3"});
  expect_lines(stack("w2").lines, {"troupe: no node \"w2\" runs here, did you mean \"w0\"?; there are: quick, w0, w1"});
  run.signal(SIGTERM);
  BOOST_TEST(run.finish().status == 3);  // of quick
}

const std::string kNoRoom = "troupe: cannot write standard output: No space left on device";

// /dev/full takes nothing, as a full disk.
BOOST_AUTO_TEST_CASE(a_command_whose_output_cannot_be_written_fails) {
  const std::string troupe = TROUPE_PROGRAM;
  for (const std::string arguments :
       {"--help", "--version", "config show cluster.toml", "status cluster.toml", "keys init-cluster"}) {
    const std::string awaited = "until " + troupe + " logs ps cluster.toml >/dev/null 2>&1; do :; done; ";
    auto run = up(role("ps", "exec 2>&1; " + awaited + troupe + " " + arguments + " >/dev/full; echo status $?"));
    expect_lines(with(run.finish().lines, "[ps]"), {"[ps] " + kNoRoom, "[ps] status 1"});
  }
}

BOOST_AUTO_TEST_CASE(a_command_without_room_for_its_complaint_keeps_its_status) {
  const std::vector<std::pair<std::string, std::string>> commands{
      {"--version >/dev/full 2>&1", "1"}, {"up missing.toml 2>/dev/full", "2"}, {"kill nobody 2>/dev/full", "1"}};
  for (const auto& [arguments, status] : commands) {
    auto run = up(role("ps", std::string(TROUPE_PROGRAM) + " " + arguments + "; echo status $?"));
    expect_lines(with(run.finish().lines, "[ps]"), {"[ps] status " + status});
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_room_for_its_output_says_so_and_stops) {
  const std::string inner = "exec 2>&1; " + std::string(TROUPE_PROGRAM) + " up inner.toml";
  std::ofstream(path() / "inner.toml") << role("talker", "while :; do echo more; done");
  auto run = up(role("ps", inner + " >/dev/full; echo status $?"));
  const auto lines = with(run.finish().lines, "[ps]");
  BOOST_TEST_REQUIRE(lines.size() == 4U);
  expect_lines({lines.begin() + 1, lines.end()},
               {"[ps] [troupe] cannot write standard output: No space left on device: stopping 1 node, again to kill",
                "[ps] [troupe] ended: cannot write standard output: No space left on device", "[ps] status 1"});
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_limit_of_file_sizes_is_no_end_without_a_word) {
  const std::string inner =
      "ulimit -f 8; " + std::string(TROUPE_PROGRAM) + " up inner.toml >big 2>errors; echo status $?";
  const std::string ignored =
      "while read k v; do [ $k = SigIgn: ] && echo $k $((0x$v >> 24 & 1)); done </proc/$$/status";
  std::ofstream(path() / "inner.toml") << role("talker", ignored + "; while :; do echo more; done");
  auto run = up(role("ps", inner));
  expect_lines(with(run.finish().lines, "[ps]"), {"[ps] status 1"});
  BOOST_TEST(read("big").starts_with("[talker] SigIgn: 0\n[talker] more\n"));
  BOOST_TEST(read("errors").ends_with("[troupe] ended: cannot write standard output: File too large\n"));
  BOOST_TEST(run.all_gone());
}

// As on a full disk: both streams close in one turn.
BOOST_AUTO_TEST_CASE(a_limit_of_file_sizes_ends_a_run_whose_outputs_are_one_file) {
  std::ofstream(path() / "inner.toml") << role("talker", "while :; do echo a; echo b >&2; done");
  auto run = up(role("ps", "ulimit -f 8; " + std::string(TROUPE_PROGRAM) + " up inner.toml >big 2>&1; echo status $?"));
  expect_lines(with(run.finish().lines, "[ps]"), {"[ps] status 1"});
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(orphans_of_a_node_are_reaped_while_it_runs) {
  auto run = up(role("ps",
                     "(sh -c 'echo $$ >orphan' &); until [ -s orphan ]; do sleep 0.01; done; read pid <orphan; "
                     "while [ -e /proc/$pid ]; do sleep 0.01; done; echo reaped"));
  BOOST_TEST(run.finish().last() == "[ps] reaped");
}

// Nothing reads what it prints, and it prints more than a pipe holds.
BOOST_AUTO_TEST_CASE(an_interrupt_ends_a_start_that_failed_and_cannot_be_printed) {
  std::ofstream(path() / "cluster.toml")
      << "[cluster]\ntransport = \"tcp\"\nnetwork = \"loopback\"\n[[host]]\nname = \"a\"\naddress = \"127.0.0.1\"\n"
         "agent = [\"sh\", \"-c\", \"yes 'a long banner of a broken login' | head -c 300000 >&2; touch said; exit "
         "3\"]\n"
      << role("n", "");
  detail::ChildSpec spec;
  spec.program = TROUPE_PROGRAM;
  spec.arguments = {"up", "cluster.toml"};
  spec.environment = process_variables();
  spec.working_dir = path();
  const detail::ProcessGuard guard;
  detail::ChildProcess launcher(spec, std::span<const std::byte>(), guard);
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!std::filesystem::exists(path() / "said") && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  std::optional<ExitStatus> end;
  while (!end && std::chrono::steady_clock::now() < due) {
    launcher.send(SIGINT);
    std::this_thread::yield();
    end = launcher.try_end();
  }
  BOOST_TEST(end.has_value());
}

BOOST_AUTO_TEST_CASE(questions_are_answered_again_once_the_launcher_has_descriptors) {
  auto run = up(role("ps", "echo id $TROUPE_CLUSTER_ID launcher $PPID; exec sleep 1000"));
  const std::string line = run.wait_for("[ps] id ");
  const ControlName name{after(line, "id ").substr(0, 16), ""};
  const pid_t launcher = std::stoi(after(line, "launcher "));
  const auto nodes = [&](std::chrono::milliseconds patience) { return ask({{name, "nodes"}}, patience).at(0); };
  BOOST_TEST_REQUIRE(nodes(std::chrono::seconds(5)).ok());
  rlimit before{};
  BOOST_TEST_REQUIRE(prlimit(launcher, RLIMIT_NOFILE, nullptr, &before) == 0);
  const rlimit none{lowest_unused(launcher), before.rlim_max};
  BOOST_TEST_REQUIRE(prlimit(launcher, RLIMIT_NOFILE, &none, nullptr) == 0);
  BOOST_TEST(!nodes(std::chrono::milliseconds(100)).ok());
  BOOST_TEST_REQUIRE(prlimit(launcher, RLIMIT_NOFILE, &before, nullptr) == 0);
  BOOST_TEST(nodes(std::chrono::seconds(5)).ok());
}

BOOST_AUTO_TEST_CASE(a_run_whose_last_output_has_no_room_fails) {
  const std::string inner = "exec 2>&1; " + std::string(TROUPE_PROGRAM) + " up inner.toml";
  std::ofstream(path() / "inner.toml") << role("last", "echo done");
  auto run = up(role("ps", inner + " >/dev/full; echo status $?"));
  const auto lines = run.finish().lines;
  BOOST_TEST(!with(lines, "[ps] [troupe] cannot write standard output: No space left on device").empty());
  BOOST_TEST(with(lines, "[ps] status").at(0) == "[ps] status 1");
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_room_for_standard_error) {
  std::ofstream(path() / "inner.toml") << role("talker", "for i in 1 2 3; do echo $i >&2; done; echo done");
  auto run = up(role("ps", std::string(TROUPE_PROGRAM) + " up inner.toml 2>/dev/full; echo status $?"));
  const auto lines = run.finish().lines;
  BOOST_TEST(with(lines, "[ps] [troupe] cannot write standard error: No space left on device").size() == 1U);
  BOOST_TEST(with(lines, "[ps] [talker] done").size() == 1U);
  BOOST_TEST(with(lines, "[ps] status").at(0) == "[ps] status 0");
}

BOOST_AUTO_TEST_CASE(following_ends_when_the_output_cannot_be_written) {
  const std::string follow = std::string(TROUPE_PROGRAM) + " logs ps cluster.toml --follow >/dev/full; echo status $?";
  auto run = up(role("ps", "echo one; until [ -e told ]; do sleep 0.01; done") +
                role("reader", "exec 2>&1; until " + std::string(TROUPE_PROGRAM) +
                                   " logs ps cluster.toml 2>&1 | grep -q one; do :; done; " + follow + "; touch told"));
  expect_lines(with(run.finish().lines, "[reader]"), {"[reader] " + kNoRoom, "[reader] status 1"});
}

BOOST_AUTO_TEST_SUITE_END()
