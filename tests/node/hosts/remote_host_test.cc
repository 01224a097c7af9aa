// `troupe up` over hosts: agents on this machine, each with a loopback address of its own, and agents that are broken
// or lie.
#include "node/hosts/remote_host.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "node/control/control_client.h"
#include "node/control/control_listener.h"
#include "node/control/report_json.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "node/launch/process_guard.h"
#include "tests/support/process_end.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing::on_hosts {
namespace {

using namespace troupe::detail;

/// Returns a [[host]] on this machine whose agent is started by `script`; by default the true one.
std::string host(const std::string& name, const std::string& address, const std::string& more = "",
                 const std::string& script = "exec " TROUPE_PROGRAM " agent") {
  return "[[host]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nagent = [\"sh\", \"-c\", '''" + script +
         "''']\n" + more + "\n";
}

std::string role(const std::string& name, const std::string& script, const std::string& more = "") {
  return "[[role]]\nname = \"" + name + "\"\ncommand = [\"sh\", \"-c\", '''" + script + "''']\n" + more + "\n";
}

const std::string kPolite = "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait";
const std::string kTwoHosts = host("a", "127.0.0.2") + host("b", "127.0.0.3");
const std::vector<std::string> kLoopback{"--set", "cluster.network=loopback"};

/// Returns what an agent of this version says first.
std::string hello(const std::string& version = TROUPE_VERSION) {
  return std::string(kAgentGreeting) + encode_frame(AgentFrameKind::welcome, json_of(AgentWelcome{version, "b", 1}));
}

std::string frame_of_node(AgentFrameKind kind, std::uint32_t node, const std::string& rest) {
  std::string body;
  put_u32(body, node);
  return encode_frame(kind, body + rest);
}

struct Directory : TemporaryDirectory {
  TroupeRun up(const std::string& text, std::vector<std::string> more = kLoopback) {
    std::ofstream(path() / "cluster.toml") << text;
    std::vector<std::string> arguments{"up", "cluster.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return TroupeRun(path(), arguments);
  }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Runs a cluster with copies whose only program, `program`, host "b" lacks. Its agent runs `then` once it has the
  /// first byte of its orders and has told so; the program is the file "large".
  TroupeRun with_a_copy(const std::string& program, const std::string& then) {
    write("large", program);
    std::filesystem::permissions(path() / "large", std::filesystem::perms::owner_all);
    write("welcome", hello());
    write("prepared", encode_frame(AgentFrameKind::prepared, json_of(AgentPrepared{{0}, ""})));
    return up("[cluster]\ncopy = true\n" +
              host("b", "127.0.0.3", "", "cat welcome; head -c 1 >orders; " + then + "; exec sleep 1000") +
              "[[role]]\nname = \"n\"\ncommand = [\"./large\"]\n");
  }

  /// Runs a cluster whose host "b" answers with `bytes` and then waits. Returns its output.
  TroupeRun::Result with_answer(const std::string& bytes) {
    std::ofstream(path() / "answer", std::ios::binary) << bytes;
    const std::string script = "cat answer; exec sleep 1000";
    auto run = up(host("a", "127.0.0.2") + host("b", "127.0.0.3", "", script) + role("n", kPolite, "count = 2"));
    const auto result = run.finish();
    BOOST_TEST(run.all_gone());
    return result;
  }
};

/// Returns the lines that contain `text`, in order.
std::vector<std::string> with(const std::vector<std::string>& lines, const std::string& text) {
  std::vector<std::string> result;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(result),
               [&](const std::string& line) { return line.find(text) != std::string::npos; });
  return result;
}

std::string after(const std::string& line, const std::string& word) {
  return line.substr(line.find(word) + word.size());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(remote_host, Directory)

BOOST_AUTO_TEST_CASE(nodes_run_on_their_hosts_and_know_where_the_first_one_listens) {
  auto run =
      up(host("a", "127.0.0.2") + host("b", "127.0.0.3", "env = {WHERE = \"on b\"}\ngpus = 2") +
         role("n", "echo at $TROUPE_ADDRESS $WHERE $CUDA_VISIBLE_DEVICES; echo seed $TROUPE_SEED >&2", "count = 4"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  const std::string first = with(result.lines, "[n/0] at ").at(0);
  BOOST_TEST(first.starts_with("[n/0] at tcp://127.0.0.2:"));
  BOOST_TEST(with(result.lines, "[n/1] at").at(0) == "[n/1] at tcp://127.0.0.3:* on b 0");
  BOOST_TEST(with(result.lines, "[n/3] at").at(0) == "[n/3] at tcp://127.0.0.3:* on b 1");
  for (const std::string& line : with(result.lines, "seed ")) {
    BOOST_TEST(after(line, "seed ") == first.substr(first.find("tcp://"), after(line, "seed ").size()));
  }
  BOOST_TEST(with(result.lines, "] seed ").size() == 4u);
  BOOST_TEST(with(result.lines, "[troupe] troupe: 4 nodes on 2 hosts started in ").size() == 1u);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(all_hosts_get_one_secret_and_each_node_reads_it_once) {
  auto run =
      up(kTwoHosts + role("n", "eval \"exec 9<&$TROUPE_SECRET_FD\"; echo secret $(od -An -tx1 <&9)", "count = 2"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  const std::string one = after(with(result.lines, "[n/0] secret").at(0), "secret");
  BOOST_TEST(one.size() == 3u * 32);
  BOOST_TEST(one == after(with(result.lines, "[n/1] secret").at(0), "secret"));
}

BOOST_AUTO_TEST_CASE(a_failure_on_one_host_stops_the_nodes_of_all) {
  auto run = up(kTwoHosts + role("ps", kPolite) + role("bad", "until [ -e go ]; do :; done; echo broken; exit 3") +
                role("other", kPolite));
  run.wait_for("[ps] ready");
  run.wait_for("[other] ready");
  std::ofstream(path() / "go") << "";
  const auto result = run.finish();
  BOOST_TEST(result.status == 3);
  BOOST_TEST(with(result.lines, "bye").size() == 2u);
  BOOST_TEST(result.last().starts_with("[bad] exit status 3, pid "));
  BOOST_TEST(result.last().ends_with("; its last line: broken"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(an_interrupt_stops_the_nodes_of_all_hosts_from_the_last_to_the_first) {
  auto run = up(kTwoHosts + role("n", kPolite, "count = 3"));
  for (const char* ready : {"[n/0] ready", "[n/1] ready", "[n/2] ready"}) run.wait_for(ready);
  run.wait_for("started in");
  run.signal(SIGINT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 130);
  const std::vector<std::string> wanted{"[n/2] bye", "[n/1] bye", "[n/0] bye"};
  BOOST_TEST(with(result.lines, "bye") == wanted, boost::test_tools::per_element());
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(the_nodes_of_an_agent_that_is_killed_are_lost_and_the_others_stopped) {
  auto run = up(host("a", "127.0.0.2") + host("b", "127.0.0.3", "", "echo pid $$ >&2; exec " TROUPE_PROGRAM " agent") +
                role("n", kPolite, "count = 2"));
  const std::string pid = after(run.wait_for("[host b] pid "), "pid ");
  run.wait_for("[n/0] ready");
  run.wait_for("[n/1] ready");
  run.wait_for("started in");
  kill(std::stoi(pid), SIGKILL);
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(with(result.lines, "[host b] its agent ended: killed by signal 9 (SIGKILL)").size() == 1u);
  BOOST_TEST(with(result.lines, "[n/0] bye").size() == 1u);
  BOOST_TEST(result.last().starts_with("[n/1] lost with its host, pid "));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_host_that_is_silent_for_the_lease_is_given_up_and_ends_its_nodes) {
  auto run = up("[cluster]\nlease = \"1s\"\n" + host("a", "127.0.0.2") +
                host("b", "127.0.0.3", "", "echo pid $$ >&2; exec " TROUPE_PROGRAM " agent") +
                role("n", kPolite, "count = 2"));
  const int pid = std::stoi(after(run.wait_for("[host b] pid "), "pid "));
  run.wait_for("started in");
  kill(pid, SIGSTOP);
  run.wait_for("[host b] no word from its agent for 1000 ms");
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.last().starts_with("[n/1] lost with its host, pid "));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(nothing_outlives_a_launcher_that_is_killed) {
  auto run = up(kTwoHosts + role("n", kPolite, "count = 2"));
  run.wait_for("started in");
  run.signal(SIGKILL);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(an_agent_ends_its_nodes_when_the_launcher_is_silent_for_the_lease) {
  auto run = up("[cluster]\nlease = \"1s\"\n" + kTwoHosts + role("n", "echo pid $$; exec sleep 1000", "count = 2"));
  const ProcessEnd one(std::stoi(after(run.wait_for("[n/0] pid "), "pid ")));
  const ProcessEnd other(std::stoi(after(run.wait_for("[n/1] pid "), "pid ")));
  run.wait_for("started in");
  run.signal(SIGSTOP);
  BOOST_TEST(one.comes());
  BOOST_TEST(other.comes());
  run.signal(SIGCONT);
  const auto result = run.finish();
  BOOST_TEST(result.status == 1);
  // Its own silence ends its hosts for it, too, if that is noticed first.
  for (const std::string host : {"[host a] ", "[host b] "}) {
    const std::string agents = host + "troupe agent: no word from troupe up for 1000 ms: its nodes here are ended";
    const std::string own = host + "no word from its agent for 1000 ms";
    BOOST_TEST(with(result.lines, agents).size() + with(result.lines, own).size() > 0u);
  }
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_host_without_an_agent_is_one_line_and_starts_nothing) {
  auto run = up(host("a", "127.0.0.2") + host("b", "127.0.0.3", "", "echo no route >&2; exit 255") +
                role("n", "echo started", "count = 2"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 126);
  BOOST_TEST(with(result.lines, "started").empty());
  BOOST_TEST(result.lines.at(0) == "[host b] no route");
  BOOST_TEST(result.last() == "[host b] sh ended before an agent answered: exit status 255; its last line: no route");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_host_that_refuses_the_login_asks_for_one_without_a_password) {
  auto run = up(host("b", "127.0.0.3", "", "echo 'b: Permission denied (publickey).' >&2; exit 255") +
                role("n", "echo started"));
  BOOST_TEST(run.finish().last() ==
             "[host b] sh ended before an agent answered: exit status 255; its last line: b: Permission denied "
             "(publickey).: does `ssh` to it work without a password?");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_host_that_never_answers_is_given_up) {
  auto run = up("[cluster]\njoin_timeout = \"300ms\"\n" + host("b", "127.0.0.3", "", "exec sleep 1000") +
                role("n", "echo started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 126);
  BOOST_TEST(result.last() == "[host b] no agent has answered within 300 ms");
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(what_a_login_prints_is_shown_and_disturbs_nothing) {
  auto run = up(host("b", "127.0.0.3", "", "echo 'Welcome to b'; echo; exec " TROUPE_PROGRAM " agent") +
                role("n", "echo started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.lines.at(0) == "[host b] Welcome to b");
  BOOST_TEST(with(result.lines, "[n] started").size() == 1u);
}

BOOST_AUTO_TEST_CASE(hosts_connect_eight_at_a_time) {
  std::string hosts;
  for (int i = 0; i < 10; ++i) {
    hosts += host("h" + std::to_string(i), "127.0.0." + std::to_string(10 + i), "",
                  "if [ -e go ]; then echo late >&2; else echo early >&2; fi; until [ -e go ]; do sleep 0.01; done; "
                  "exec " TROUPE_PROGRAM " agent");
  }
  auto run = up(hosts + role("n", "echo here", "placement = \"per_host\""));
  for (int i = 0; i < 8; ++i) run.wait_for("early");
  std::ofstream(path() / "go") << "";
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(with(result.lines, "early").size() == 8u);
  BOOST_TEST(with(result.lines, "late").size() == 2u);
  BOOST_TEST(with(result.lines, "here").size() == 10u);
  BOOST_TEST(with(result.lines, "10 nodes on 10 hosts started").size() == 1u);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(a_program_that_a_host_has_not_is_copied_if_that_is_wanted) {
  std::ofstream(path() / "hello") << "#!/bin/sh\necho hello\n";
  chmod((path() / "hello").c_str(), 0700);
  std::filesystem::create_directory(path() / "there");
  const std::string cache = (path() / "cache").string();
  const std::string far = host("b", "127.0.0.3", "working_dir = \"" + (path() / "there").string() + "\"",
                               "XDG_CACHE_HOME=" + cache + " exec " TROUPE_PROGRAM " agent");
  const std::string greeter = "[[role]]\nname = \"n\"\ncommand = [\"./hello\"]\n";
  {
    const auto refused = up(far + greeter).finish();
    BOOST_TEST(refused.status == 126);
    BOOST_TEST(refused.last() ==
               "[host b] no program " + (path() / "there" / "hello").string() + "; copy = true in [cluster] copies it");
  }
  for (int round = 0; round < 2; ++round) {
    const auto copied = up("[cluster]\ncopy = true\n" + far + greeter).finish();
    BOOST_TEST(copied.status == 0);
    BOOST_TEST(with(copied.lines, "[n] hello").size() == 1u);
  }
  std::ofstream(path() / "there" / "hello") << "#!/bin/sh\necho another\n";
  chmod((path() / "there" / "hello").c_str(), 0700);
  const auto other = up(far + greeter).finish();
  BOOST_TEST(other.status == 126);
  BOOST_TEST(other.last().find(" is another program than here: BLAKE2b ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_large_program_arrives_whole) {
  std::ofstream(path() / "large") << "#!/bin/sh\necho $(wc -c < $0)\nexit 0\n" << std::string(3'000'000, '#');
  chmod((path() / "large").c_str(), 0700);
  std::filesystem::create_directory(path() / "there");
  const std::string far = host("b", "127.0.0.3", "working_dir = \"" + (path() / "there").string() + "\"",
                               "XDG_CACHE_HOME=" + (path() / "cache").string() + " exec " TROUPE_PROGRAM " agent");
  const auto result =
      up("[cluster]\ncopy = true\n" + far + "[[role]]\nname = \"n\"\ncommand = [\"./large\"]\n").finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(with(result.lines, "[n] ").at(0) == "[n] " + std::to_string(std::filesystem::file_size(path() / "large")));
}

BOOST_AUTO_TEST_CASE(a_program_that_vanishes_before_it_is_copied_is_one_line) {
  auto run = with_a_copy("#!/bin/sh\n", "rm large; cat prepared");
  const auto result = run.finish();
  BOOST_TEST(result.status == 126);
  BOOST_TEST(result.last() == "[host b] cannot read " + (path() / "large").string() + ": No such file or directory");
  BOOST_TEST(run.all_gone());
}

// Over a slow link an agent has only the beginning of what was sent when it must answer.
BOOST_AUTO_TEST_CASE(a_host_is_asked_for_a_sign_of_life_after_each_piece_of_a_program) {
  auto run = with_a_copy("#!/bin/sh\n" + std::string(3'000'000, '#'),
                         "cat prepared; head -c 100000 >>orders; echo enough >&2");
  run.wait_for("[host b] enough");
  AgentFrameReader orders;
  orders.feed(read("orders"));
  auto order = orders.next();
  BOOST_TEST_REQUIRE(order.has_value());
  BOOST_TEST(static_cast<int>(order->kind) == static_cast<int>(AgentFrameKind::prepare));
  std::size_t pieces = 0;
  while ((order = orders.next())) {
    BOOST_TEST(static_cast<int>(order->kind) == static_cast<int>(AgentFrameKind::program));
    ++pieces;
    if (!(order = orders.next())) break;
    BOOST_TEST(static_cast<int>(order->kind) == static_cast<int>(AgentFrameKind::ping));
  }
  BOOST_TEST(pieces >= 5u);
}

// As while debugging, when other hosts take long to connect: an agent without orders ends after a minute of silence.
BOOST_AUTO_TEST_CASE(an_agent_that_waits_for_other_hosts_hears_from_its_launcher_also_without_a_lease) {
  write("welcome", hello());
  HostPlan plan;
  plan.agent = {"/bin/sh", "-c", "cd '" + path().string() + "'; cat welcome; head -c 1 >heard; exec sleep 1000"};
  const ProcessGuard guard;
  RemoteHost host({.plan = plan,
                   .variables = process_variables(),
                   .connect_max = std::chrono::seconds(20),
                   .version = TROUPE_VERSION,
                   .say = [](std::string_view) {},
                   .complain = [](std::string_view problem) { BOOST_TEST(problem == ""); }},
                  guard, {});
  const auto begin = std::chrono::steady_clock::now();
  host.connect(begin);
  std::vector<pollfd> polled;
  while (host.state() == RemoteHost::State::connecting) {
    polled.clear();
    host.add_polled(polled, HostRun::Reading::on);
    BOOST_TEST_REQUIRE(::poll(polled.data(), polled.size(), 10'000) > 0);
    host.work(polled, begin);
  }
  BOOST_TEST_REQUIRE((host.state() == RemoteHost::State::welcomed));
  BOOST_TEST_REQUIRE(host.next_due().has_value());
  BOOST_TEST((*host.next_due() <= begin + std::chrono::seconds(30)));
  polled.clear();
  host.add_polled(polled, HostRun::Reading::on);
  host.work(polled, *host.next_due());
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (read("heard").empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(!read("heard").empty());
}

// As one whose resolver does not answer: with a lease of 10 s, that is no silence of the agent.
BOOST_AUTO_TEST_CASE(an_agent_that_looks_up_a_name_has_a_minute_and_then_the_name_is_told) {
  write("welcome", hello());
  write("pong", encode_frame(AgentFrameKind::pong, "looks up b.example"));
  HostPlan plan;
  plan.agent = {"/bin/sh", "-c",
                "cd '" + path().string() + "'; cat welcome; head -c 1 >heard; cat pong; exec sleep 1000"};
  std::vector<std::string> problems;
  const ProcessGuard guard;
  RemoteHost host({.plan = plan,
                   .variables = process_variables(),
                   .lease = std::chrono::seconds(10),
                   .connect_max = std::chrono::seconds(20),
                   .version = TROUPE_VERSION,
                   .say = [](std::string_view) {},
                   .complain = [&](std::string_view problem) { problems.emplace_back(problem); }},
                  guard, {});
  const auto begin = std::chrono::steady_clock::now();
  host.connect(begin);
  while (host.being_at().empty()) {
    std::vector<pollfd> polled;
    host.add_polled(polled, HostRun::Reading::on);
    BOOST_TEST_REQUIRE(::poll(polled.data(), polled.size(), 10'000) > 0);
    host.work(polled, begin);
    if (host.state() == RemoteHost::State::welcomed) host.prepare(begin);
  }
  const auto work_after = [&](std::chrono::seconds time) {
    std::vector<pollfd> polled;
    host.add_polled(polled, HostRun::Reading::on);
    host.work(polled, begin + time);
  };
  work_after(std::chrono::seconds(59));
  BOOST_TEST((host.state() == RemoteHost::State::preparing));
  work_after(std::chrono::seconds(60));
  BOOST_TEST(
      problems == std::vector<std::string>{"no word from its agent for 60000 ms; it looks up b.example: does its "
                                           "resolver answer? host.address may be a number"},
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nodes_of_other_hosts_are_asked_by_way_of_the_launcher) {
  auto run = up(kTwoHosts + role("n", "echo id $TROUPE_CLUSTER_ID; exec sleep 1000", "count = 2"));
  const std::string id = after(run.wait_for("[n/1] id "), "id ");
  run.wait_for("started in");
  ControlListener node(ControlName{id, "n1"},
                       [](std::string_view question) { return "told " + std::string(question); });
  std::vector<ControlAnswer> answers;
  std::atomic<bool> done = false;
  {
    const std::jthread asker([&] {
      answers = ask({{{id, ""}, "ask n1 status"}, {{id, ""}, "ask n0 status"}, {{id, ""}, "ask n2 status"}},
                    std::chrono::seconds(5));
      done = true;
    });
    while (!done) {
      std::vector<pollfd> polled;
      node.add_polled(polled);
      (void)::poll(polled.data(), polled.size(), 10);
      node.work(std::chrono::steady_clock::now());
    }
  }
  BOOST_TEST_REQUIRE(answers.size() == 3u);
  BOOST_TEST(answers[0].text == "told status");
  BOOST_TEST(answers[1].text == R"({"error":"no process answers there any more"})");
  BOOST_TEST(answers[2].text == R"({"error":"it has no such node"})");
  const LaunchReport report = parse_launch_report(ask({{{id, ""}, "nodes"}}, std::chrono::seconds(5)).at(0).text);
  BOOST_TEST_REQUIRE(report.nodes.size() == 2u);
  BOOST_TEST(report.nodes[0].host == "a");
  BOOST_TEST(report.nodes[1].host == "b");
  BOOST_TEST(report.nodes[1].pid > 0);
}

BOOST_AUTO_TEST_CASE(a_node_of_another_host_gets_a_signal_by_a_command) {
  auto run =
      up("[cluster]\nname = \"signals\"\n" + kTwoHosts + role("n", kPolite, "count = 2\non_exit = \"keep_going\""));
  run.wait_for("[n/0] ready");
  run.wait_for("[n/1] ready");
  run.wait_for("started in");
  const auto troupe = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "kill");
    return TroupeRun(path(), arguments).finish();
  };
  BOOST_TEST(troupe({"n1", "cluster.toml", "--signal", "NONE"}).last().starts_with("troupe: \"NONE\" is no signal"));
  BOOST_TEST(troupe({"n2", "cluster.toml"}).last() ==
             "troupe: no node \"n2\" runs here, did you mean \"n0\"?; there are: n0, n1");
  const auto killed = troupe({"n1", "cluster.toml", "--signal", "sigkill"});
  BOOST_TEST(killed.status == 0);
  BOOST_TEST(killed.last().starts_with("sent SIGKILL to n1, pid "));
  BOOST_TEST(killed.last().ends_with(" on host b"));
  run.wait_for("[troupe] SIGKILL to [n/1] by `troupe kill`");
  run.wait_for("[n/1] killed by signal 9 (SIGKILL)");
  const auto again = troupe({"n1", "cluster.toml"});
  BOOST_TEST(again.status == 1);
  BOOST_TEST(again.last() == "troupe: n1 has ended: killed by signal 9 (SIGKILL)");
  BOOST_TEST(troupe({"n0", "cluster.toml"}).status == 0);
  const auto result = run.finish();
  BOOST_TEST(with(result.lines, "[n/0] bye").size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_address_that_others_reach_is_refused_on_loopback) {
  auto run = up("[cluster]\ntransport = \"tcp\"\n" + host("a", "0.0.0.0") + role("n", "echo started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 126);
  BOOST_TEST(result.last() == "[host a] host.address = \"0.0.0.0\": other hosts need one address, not all of them");
}

BOOST_AUTO_TEST_CASE(hosts_by_ssh_are_not_on_loopback) {
  auto run = up("[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n" + role("n", "echo started"));
  const auto result = run.finish();
  BOOST_TEST(result.status == 2);
  BOOST_TEST(result.last().starts_with(
      "command line: cluster.network: \"loopback\" is this machine, and host a is another: "));
}

BOOST_AUTO_TEST_CASE(an_agent_of_another_version_is_refused) {
  const auto result = with_answer(hello("0.0.1"));
  BOOST_TEST(result.status == 126);
  BOOST_TEST(result.last() == "[host b] it has troupe 0.0.1, here is " TROUPE_VERSION);
}

BOOST_AUTO_TEST_CASE(an_agent_that_lies_about_its_nodes_loses_them) {
  const std::string exited = frame_of_node(AgentFrameKind::exited, 0, std::string(5, '\0'));
  const std::string ended = frame_of_node(AgentFrameKind::ended, 0, "");
  const std::vector<std::pair<std::string, std::string>> lies{
      {exited + exited, "node 0 exited twice"},
      {exited + ended + ended, "node 0 ended twice"},
      {ended, "node 0 ended before it exited"},
      {frame_of_node(AgentFrameKind::exited, 7, std::string(5, '\0')), "a report about node 7 of 2"},
      {frame_of_node(AgentFrameKind::exited, 0, std::string(4, '\0')), "a body ends 1 bytes early"},
      {frame_of_node(AgentFrameKind::ended, 7, ""), "a report about node 7 of 2"},
      {frame_of_node(AgentFrameKind::output, 2, "\x01text"), "a report about node 2 of 2"},
      {frame_of_node(AgentFrameKind::output, 0, "\x02text"), "output of stream 2"},
      {encode_frame(AgentFrameKind::started, json_of(AgentStarted{{1, 2}})), "2 nodes started at a wrong time"},
      {encode_frame(AgentFrameKind::answer, "short"), "a body ends 3 bytes early"},
  };
  for (const auto& [bytes, why] : lies) {
    BOOST_TEST_CONTEXT(why) {
      std::filesystem::remove(path() / "lies");
      BOOST_TEST_REQUIRE(mkfifo((path() / "lies").c_str(), 0600) == 0);
      auto run = up(host("a", "127.0.0.2") + host("b", "127.0.0.3", "", "cat lies & exec " TROUPE_PROGRAM " agent") +
                    role("n", kPolite, "count = 4"));
      run.wait_for("started in");
      std::ofstream(path() / "lies", std::ios::binary) << bytes;
      const auto result = run.finish();
      BOOST_TEST(result.status == 1);
      BOOST_TEST(with(result.lines, "[host b] its agent does not follow the protocol: " + why).size() == 1u);
      BOOST_TEST(with(result.lines, "lost with its host").size() > 0u);
      BOOST_TEST(run.all_gone());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_agent_that_breaks_the_protocol_is_given_up) {
  const std::string prepared = encode_frame(AgentFrameKind::prepared, json_of(AgentPrepared{}));
  const std::string started = encode_frame(AgentFrameKind::started, json_of(AgentStarted{{1}}));
  std::string huge;
  put_u32(huge, 0xffffffffU);
  const std::vector<std::pair<std::string, std::string>> lies{
      {std::string(100'000, 'x'), "bytes of other output"},
      {hello() + hello().substr(kAgentGreeting.size()), "a second welcome"},
      {hello() + huge + "zz", "a frame of 4294967295 bytes"},
      {hello() + encode_frame(static_cast<AgentFrameKind>(99), ""), "an unknown message, 99"},
      {hello() + encode_frame(AgentFrameKind::prepare, ""), "an unknown message, 1"},
      {hello() + prepared, "prepared at a wrong time"},
      {hello() + started, "1 nodes started at a wrong time"},
      {hello() + frame_of_node(AgentFrameKind::output, 0, "\x01text"), "a report about node 0 of 1"},
      {hello() + frame_of_node(AgentFrameKind::ended, 0, std::string(4, '\0')), "a report about node 0 of 1"},
      {hello() + encode_frame(AgentFrameKind::welcome, "{"), "a second welcome"},
      {std::string(kAgentGreeting) + encode_frame(AgentFrameKind::welcome, "{"), "a message that makes no sense"},
  };
  for (const auto& [bytes, why] : lies) {
    const auto result = with_answer(bytes);
    BOOST_TEST_CONTEXT(why) {
      BOOST_TEST(result.status == 126);
      BOOST_TEST(result.last().starts_with("[host b] its agent does not follow the protocol: "));
      BOOST_TEST(result.last().find(why) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing::on_hosts
