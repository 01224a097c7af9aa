// `troupe agent` by itself: orders at a wrong time, about nodes that are none, and its end.
#include "node/hosts/agent.h"

#include <poll.h>
#include <signal.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "node/hosts/host_programs.h"
#include "node/keys/key_ring.h"
#include "node/launch/child_process.h"
#include "node/launch/process_guard.h"
#include "tests/support/dumpable_after.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using namespace troupe::detail;

/// A running agent; this process is its launcher.
class AgentRun {
 public:
  AgentRun() : agent_(spec(), std::span<const std::byte>(), guard_) {
    while (!greeted_) take(read());
  }

  void send(AgentFrameKind kind, const std::string& body) { send_bytes(encode_frame(kind, body)); }
  void send_bytes(const std::string& bytes) {
    BOOST_TEST_REQUIRE(::write(agent_.input().get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void close() { agent_.input().close(); }
  void signal(int number) { agent_.send(number); }

  /// Returns the next frame; nullopt at the end of its output.
  std::optional<AgentFrame> next() {
    while (true) {
      if (auto frame = frames_.next()) return frame;
      const std::string bytes = read();
      if (bytes.empty()) return std::nullopt;
      frames_.feed(bytes);
    }
  }

  /// Returns why it refuses; skips all other frames.
  std::string refusal() {
    while (auto frame = next()) {
      if (frame->kind == AgentFrameKind::refused) return parse_body<AgentRefused>(frame->body).problems.at(0);
    }
    return "it refuses nothing";
  }

  /// Returns its exit status.
  int status() {
    while (next()) {
    }
    for (int i = 0; i < 10'000; ++i) {
      if (const auto end = agent_.try_end()) return end->shell_status();
      (void)::poll(nullptr, 0, 1);
    }
    throw std::runtime_error("the agent does not end");
  }

  /// Prepares and starts one node that runs `script`.
  void start(const std::string& script) {
    send(AgentFrameKind::prepare, json_of(prepare_order()));
    send(AgentFrameKind::secret, std::string(32, 's'));
    send(AgentFrameKind::start, json_of(start_order(script)));
  }

  static AgentPrepare prepare_order() {
    return {"id", "loopback", std::chrono::milliseconds(0), {{"sh", "", 0, false}}, std::nullopt};
  }
  static AgentStart start_order(const std::string& script) { return {"", "", 1, {{"n", 0, {"-c", script}, "/", {}}}}; }

 private:
  static ChildSpec spec() {
    ChildSpec spec;
    spec.program = TROUPE_PROGRAM;
    spec.arguments = {"agent"};
    spec.environment = process_variables();
    spec.takes_input = true;
    return spec;
  }

  /// Returns the next bytes of its output; empty at its end.
  std::string read() {
    pollfd polled{agent_.output(Output::out).get(), POLLIN, 0};
    if (::poll(&polled, 1, 10'000) <= 0) throw std::runtime_error("the agent is silent");
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(polled.fd, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
  }

  void take(const std::string& bytes) {
    if (bytes.empty()) throw std::runtime_error("the agent ended before its greeting");
    if (const auto rest = greeting_.feed(bytes)) {
      greeted_ = true;
      frames_.feed(*rest);
    }
  }

  ProcessGuard guard_;
  ChildProcess agent_;
  AgentGreetingReader greeting_;
  AgentFrameReader frames_;
  bool greeted_ = false;
};

std::string body_of(std::uint32_t first, std::uint32_t second) {
  std::string body;
  put_u32(body, first);
  put_u32(body, second);
  return body;
}

BOOST_AUTO_TEST_SUITE(agent)

BOOST_AUTO_TEST_CASE(a_node_runs_with_its_secret_and_its_end_is_told) {
  AgentRun run;
  const auto welcome = run.next();
  BOOST_TEST_REQUIRE(welcome.has_value());
  BOOST_TEST(parse_body<AgentWelcome>(welcome->body).version == TROUPE_VERSION);
  run.start("eval \"cat <&$TROUPE_SECRET_FD\"; exit 3");
  BOOST_CHECK(run.next()->kind == AgentFrameKind::prepared);
  BOOST_CHECK(run.next()->kind == AgentFrameKind::started);
  std::optional<AgentFrame> output;
  std::optional<AgentFrame> exited;
  std::optional<AgentFrame> frame = run.next();
  for (; frame && frame->kind != AgentFrameKind::ended; frame = run.next()) {
    (frame->kind == AgentFrameKind::exited ? exited : output) = frame;
  }
  BOOST_TEST_REQUIRE((output && exited && frame));
  BOOST_TEST(output->body == std::string("\0\0\0\0\0", 5) + std::string(32, 's'));
  BOOST_TEST(exited->body == body_of(0, 3 << 8) + '\1');
  BOOST_TEST(frame->body == std::string(4, '\0'));
  run.close();
  BOOST_TEST(run.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_node_has_the_variables_of_all_and_its_own_come_first) {
  AgentRun run;
  run.send(AgentFrameKind::prepare, json_of(AgentRun::prepare_order()));
  run.send(AgentFrameKind::secret, std::string(32, 's'));
  AgentStart order = AgentRun::start_order("echo $A $B $OMP_WAIT_POLICY");
  order.nodes[0].variables = {{"A", "own"}};
  order.variables = {{"A", "all"}, {"B", "all"}, {"OMP_WAIT_POLICY", "active"}};
  run.send(AgentFrameKind::start, json_of(order));
  std::optional<AgentFrame> frame = run.next();
  while (frame && frame->kind != AgentFrameKind::output) frame = run.next();
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_TEST(frame->body.substr(5) == "own all active\n");
  run.close();
  BOOST_TEST(run.status() == 0);
}

// The launcher's pings wait in the pipe meanwhile.
BOOST_AUTO_TEST_CASE(an_agent_that_works_for_longer_than_its_lease_says_so_and_goes_on) {
  const TemporaryDirectory directory;
  const auto program = directory.path() / "large";
  std::ofstream(program).close();
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(program, 512 << 20);
  AgentRun run;
  BOOST_CHECK(run.next()->kind == AgentFrameKind::welcome);
  AgentPrepare order = AgentRun::prepare_order();
  order.lease = std::chrono::milliseconds(300);
  order.programs = {{program, hash_of_file(program), 512 << 20, false}};
  run.send(AgentFrameKind::prepare, json_of(order));
  BOOST_CHECK(run.next()->kind == AgentFrameKind::pong);
  run.send(AgentFrameKind::ping, "");
  std::optional<AgentFrame> frame = run.next();
  while (frame && frame->kind == AgentFrameKind::pong) frame = run.next();
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_CHECK(frame->kind == AgentFrameKind::prepared);
  frame = run.next();
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_CHECK(frame->kind == AgentFrameKind::pong);
  run.close();
  BOOST_TEST(run.status() == 0);
}

// The launcher's pings wait in the pipe until all run.
BOOST_AUTO_TEST_CASE(an_agent_that_starts_many_nodes_says_so_after_each) {
  AgentRun run;
  run.send(AgentFrameKind::prepare, json_of(AgentRun::prepare_order()));
  run.send(AgentFrameKind::secret, std::string(32, 's'));
  AgentStart order = AgentRun::start_order("exec sleep 1000");
  for (int i = 1; i < 20; ++i) order.nodes.push_back({"n" + std::to_string(i), 0, {"-c", "exec sleep 1000"}, "/", {}});
  run.send(AgentFrameKind::start, json_of(order));
  std::optional<AgentFrame> frame = run.next();
  while (frame && frame->kind != AgentFrameKind::prepared) frame = run.next();
  int pongs = 0;
  for (frame = run.next(); frame && frame->kind == AgentFrameKind::pong; frame = run.next()) ++pongs;
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_CHECK(frame->kind == AgentFrameKind::started);
  BOOST_TEST(pongs == 19);
}

BOOST_AUTO_TEST_CASE(orders_at_a_wrong_time_are_refused) {
  {
    AgentRun run;
    run.send(AgentFrameKind::start, json_of(AgentRun::start_order("echo")));
    BOOST_TEST(run.refusal() == "from troupe up: start at a wrong time");
    BOOST_TEST(run.status() == 1);
  }
  {
    AgentRun run;  // no secret
    run.send(AgentFrameKind::prepare, json_of(AgentRun::prepare_order()));
    run.send(AgentFrameKind::start, json_of(AgentRun::start_order("echo")));
    BOOST_TEST(run.refusal() == "from troupe up: start at a wrong time");
  }
  AgentRun run;  // twice
  run.start("sleep 1000");
  run.send(AgentFrameKind::secret, std::string(32, 's'));
  run.send(AgentFrameKind::start, json_of(AgentRun::start_order("echo")));
  BOOST_TEST(run.refusal() == "from troupe up: start at a wrong time");
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_looked_at_is_refused) {
  TemporaryDirectory directory;
  const std::filesystem::path loop = directory.path() / "loop";
  std::filesystem::create_symlink(loop, loop);
  AgentRun run;
  run.send(AgentFrameKind::prepare, json_of(AgentRun::prepare_order()));
  run.send(AgentFrameKind::secret, std::string(32, 's'));
  AgentStart order = AgentRun::start_order("echo");
  order.nodes[0].working_dir = loop;
  run.send(AgentFrameKind::start, json_of(order));
  BOOST_TEST(run.refusal() ==
             "no directory " + loop.string() +
                 " (Too many levels of symbolic links): host.working_dir says where programs run there");
  BOOST_TEST(run.status() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_no_order_is_refused) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {encode_frame(static_cast<AgentFrameKind>(50), ""), "from troupe up: an unknown message, 50"},
      {encode_frame(AgentFrameKind::prepare, "{}"), "from troupe up: a message that makes no sense"},
      {encode_frame(AgentFrameKind::secret, "short"), "from troupe up: a secret of 5 bytes"},
      {encode_frame(AgentFrameKind::signal, body_of(0, 15)), "from troupe up: signal 15 for node 0 of 0"},
      {encode_frame(AgentFrameKind::signal, "xx"), "from troupe up: a body ends 2 bytes early"},
      {encode_frame(AgentFrameKind::question, body_of(1, 0) + body_of(0, 0)), "from troupe up: a question for node 0"},
      {encode_frame(AgentFrameKind::program, body_of(7, 0)), "from troupe up: program 7 was not asked for"},
      {encode_frame(AgentFrameKind::keys, body_of(1, 0)), "from troupe up: keys of node 1 after 0 others"},
      {encode_frame(AgentFrameKind::keys, body_of(0, 0)), "from troupe up: "},
      {encode_frame(AgentFrameKind::listen, "{}"),
       "from troupe up: a message that makes no sense: there is no address"},
      {std::string("\xff\xff\xff\xff\x01", 5), "from troupe up: a frame of 4294967295 bytes"},
  };
  for (const auto& [bytes, why] : wrong) {
    BOOST_TEST_CONTEXT(why) {
      AgentRun run;
      run.send_bytes(bytes);
      const std::string refusal = run.refusal();
      BOOST_TEST(refusal.starts_with(why), refusal);
    }
  }
}

BOOST_AUTO_TEST_CASE(keys_go_to_the_node_that_they_are_of) {
  AgentRun run;
  const std::vector<NodeName> names{"n", "m"};
  const LockedBytes ring = make_run_keys(names)[0].to_bytes();
  run.send(AgentFrameKind::prepare, json_of(AgentRun::prepare_order()));
  run.send(AgentFrameKind::secret, std::string(32, 's'));
  std::string body;
  put_u32(body, 0);
  body.append(reinterpret_cast<const char*>(ring.bytes().data()), ring.bytes().size());
  run.send(AgentFrameKind::keys, body);
  run.send(AgentFrameKind::start, json_of(AgentRun::start_order("eval \"cat <&$TROUPE_KEYS_FD\"")));
  std::string printed;
  while (printed.size() < ring.bytes().size()) {
    const auto frame = run.next();
    BOOST_TEST_REQUIRE(frame.has_value());
    if (frame->kind == AgentFrameKind::output) printed += frame->body.substr(5);
  }
  BOOST_TEST(printed == body.substr(4));
}

BOOST_AUTO_TEST_CASE(an_agent_that_gets_keys_cannot_be_read_by_others_of_its_user_unless_it_is_debugged,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S10")) {
  const auto prepared_for = [](const std::string& network, std::chrono::milliseconds lease) {
    return dumpable_after([&] {
      AgentPrepare order = AgentRun::prepare_order();
      order.network = network;
      order.lease = lease;
      Pipe reports = make_pipe();
      const std::string bytes = encode_frame(AgentFrameKind::prepare, json_of(order));
      const FileDescriptor orders = pipe_with(std::as_bytes(std::span(bytes)));
      (void)run_agent({orders.get(), reports.write_end.get(), TROUPE_VERSION, process_variables()});
    });
  };
  constexpr std::chrono::milliseconds kLease{10'000};
  constexpr std::chrono::milliseconds kDebugged{0};
  BOOST_TEST(prepared_for("loopback", kLease) == 1);
  BOOST_TEST(prepared_for("keys", kLease) == 0);
  BOOST_TEST(prepared_for("keys", kDebugged) == 1);
}

BOOST_AUTO_TEST_CASE(nodes_go_on_while_its_launcher_reads_nothing_and_what_is_dropped_is_counted_before_their_end) {
  TemporaryDirectory directory;
  const std::filesystem::path done = directory.path() / "done";
  AgentRun run;
  run.start("yes 123456789 | head -c 4000000; touch " + done.string() + "; echo the last line");
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  while (!std::filesystem::exists(done) && std::chrono::steady_clock::now() < due) (void)::poll(nullptr, 0, 1);
  BOOST_TEST_REQUIRE(std::filesystem::exists(done));
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;
  std::string last;
  std::optional<AgentFrame> frame = run.next();
  for (; frame && frame->kind != AgentFrameKind::ended; frame = run.next()) {
    if (frame->kind != AgentFrameKind::output && frame->kind != AgentFrameKind::lost) continue;
    std::string_view body = frame->body;
    BOOST_TEST_REQUIRE(take_u32(body) == 0U);
    BOOST_TEST_REQUIRE(take_u8(body) == 0U);
    if (frame->kind == AgentFrameKind::output) {
      last = body;
      lines += static_cast<std::uint64_t>(std::count(body.begin(), body.end(), '\n'));
      bytes += body.size();
    } else {
      const std::uint64_t of_frame = take_u64(body);
      lost += of_frame;
      lines += of_frame;
      bytes += take_u64(body);
    }
  }
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_TEST(lost > 100'000U);
  BOOST_TEST(lines == 400'001U);
  BOOST_TEST(bytes == 4'000'000 + sizeof("the last line"));
  BOOST_TEST(last.ends_with("the last line\n"));
  run.close();
  BOOST_TEST(run.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_line_that_a_node_does_not_end_is_dropped_once_and_counted_before_its_end) {
  TemporaryDirectory directory;
  const std::filesystem::path done = directory.path() / "done";
  AgentRun run;
  run.start("yes | tr -d '\\n' | head -c 4000000; touch " + done.string());
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  while (!std::filesystem::exists(done) && std::chrono::steady_clock::now() < due) (void)::poll(nullptr, 0, 1);
  BOOST_TEST_REQUIRE(std::filesystem::exists(done));
  std::uint64_t bytes = 0;
  std::size_t losses = 0;
  std::optional<AgentFrame> frame = run.next();
  for (; frame && frame->kind != AgentFrameKind::ended; frame = run.next()) {
    std::string_view body = frame->body;
    if (frame->kind == AgentFrameKind::output) {
      bytes += body.size() - sizeof(std::uint32_t) - 1;
    } else if (frame->kind == AgentFrameKind::lost) {
      body.remove_prefix(sizeof(std::uint32_t) + 1);
      BOOST_TEST(take_u64(body) == 0U);
      bytes += take_u64(body);
      ++losses;
    }
  }
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_TEST(losses == 1U);
  BOOST_TEST(bytes == 4'000'000U);
  run.close();
  BOOST_TEST(run.status() == 0);
}

BOOST_AUTO_TEST_CASE(an_end_is_told_before_output_that_waits) {
  AgentRun run;
  run.start("yes | head -c 1000000");
  std::optional<AgentFrame> frame = run.next();
  while (frame && frame->kind != AgentFrameKind::started) frame = run.next();
  BOOST_TEST_REQUIRE(frame.has_value());
  const int pid = parse_body<AgentStarted>(frame->body).pids.at(0);
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < due) (void)::poll(nullptr, 0, 1);
  std::size_t before = 0;
  std::size_t after = 0;
  bool has_exited = false;
  for (frame = run.next(); frame && frame->kind != AgentFrameKind::ended; frame = run.next()) {
    if (frame->kind == AgentFrameKind::exited) has_exited = true;
    else (has_exited ? after : before) += frame->body.size() - 5;
  }
  BOOST_TEST(before + after == 1'000'000U);
  BOOST_TEST(after > 500'000U);  // what comes before lies in pipes, or is about to be written
}

BOOST_AUTO_TEST_CASE(an_end_tells_whether_the_agent_knew_before_that_nodes_stop) {
  TemporaryDirectory directory;
  const std::filesystem::path go = directory.path() / "go";
  AgentRun run;
  run.start("until [ -e " + go.string() + " ]; do sleep 0.01; done");
  run.send(AgentFrameKind::stopping, "");
  run.send(AgentFrameKind::ping, "");
  std::optional<AgentFrame> frame = run.next();
  while (frame && frame->kind != AgentFrameKind::pong) frame = run.next();
  std::ofstream(go) << "";
  while (frame && frame->kind != AgentFrameKind::exited) frame = run.next();
  BOOST_TEST_REQUIRE(frame.has_value());
  BOOST_TEST(frame->body == body_of(0, 0) + '\0');
}

BOOST_AUTO_TEST_CASE(nodes_wait_while_the_launcher_wishes) {
  TemporaryDirectory directory;
  const std::filesystem::path done = directory.path() / "done";
  AgentRun run;
  const auto hold = [&run](bool on) { run.send(AgentFrameKind::hold, std::string(1, on ? '\1' : '\0')); };
  BOOST_CHECK(run.next()->kind == AgentFrameKind::welcome);
  hold(true);
  run.start("echo word; touch " + done.string() + "; exec sleep 1000");
  BOOST_CHECK(run.next()->kind == AgentFrameKind::prepared);
  BOOST_CHECK(run.next()->kind == AgentFrameKind::started);
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  while (!std::filesystem::exists(done) && std::chrono::steady_clock::now() < due) {
    hold(true);
    (void)::poll(nullptr, 0, 1);
  }
  run.send(AgentFrameKind::ping, "");
  BOOST_CHECK(run.next()->kind == AgentFrameKind::pong);
  hold(false);
  BOOST_CHECK(run.next()->kind == AgentFrameKind::output);
  run.close();
  BOOST_TEST(run.status() == 0);
}

BOOST_AUTO_TEST_CASE(it_ends_with_its_nodes_when_it_is_asked_to) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
    AgentRun run;
    run.start("echo ready; exec sleep 1000");
    while (run.next()->kind != AgentFrameKind::output) {
    }
    run.signal(number);
    BOOST_TEST(run.status() == 1);
  }
}

BOOST_AUTO_TEST_CASE(orphans_of_a_node_are_reaped_while_it_runs) {
  AgentRun run;
  run.start("pid=$( (sh -c 'echo $$' &) ); while [ -e /proc/$pid ]; do sleep 0.01; done");
  auto frame = run.next();
  while (frame->kind != AgentFrameKind::exited) frame = run.next();
  BOOST_TEST(frame->body == body_of(0, 0) + '\1');
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
