// Leftovers of a port: peers that die, stops that race with answers, and a process that continues.
#include "node/port/port_core.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/counting_new.h"
#include "tests/support/two_ports.h"

extern char** environ;

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::call;
using testing::echo;
using testing::kEcho;
using testing::Kept;
using testing::kPatience;
using testing::options;
using testing::part_of;
using testing::Pending;
using testing::start_call;
using testing::Two;

constexpr std::uint64_t kNeverAnswered = 2;

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for (auto entry = std::filesystem::directory_iterator(folder); entry != std::filesystem::directory_iterator();
       ++entry)
    ++count;
  return count;
}

/// Waits for `holds`: a thread leaves the kernel's list shortly after it was told to end.
bool soon(const std::function<bool()>& holds) {
  const auto due = std::chrono::steady_clock::now() + kPatience;
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

/// This program again, as port "child" in a process of its own: echoes calls, and never answers kNeverAnswered.
class ChildProcess {
 public:
  explicit ChildProcess(const std::string& secret) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    BOOST_REQUIRE(::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(out.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 3);
    std::vector<std::string> words{"test", "--run_test=port_child"};
    std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
    BOOST_REQUIRE(::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    lifeline_ = in[1];
    BOOST_REQUIRE(::write(lifeline_, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()));
    char byte = 0;
    pollfd readable{.fd = out[0], .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, 10'000) == 1 && ::read(out[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
    ::close(out[0]);
    BOOST_REQUIRE(!address_.empty());
  }
  ~ChildProcess() {
    signal(SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(lifeline_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  void signal(int number) const { ::kill(process_, number); }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  pid_t process_ = 0;
  int lifeline_ = -1;
  std::string address_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(port_child, *boost::unit_test::disabled())

/// Not a test: the process that ChildProcess starts. It ends with its parent.
BOOST_AUTO_TEST_CASE(run_a_port_until_killed) {
  std::string secret(32, '\0');
  if (::fcntl(3, F_GETFD) < 0 || ::read(0, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size())) return;
  Kept kept;
  Port::Options with = options("child", secret);
  with.heartbeat = 20ms;
  with.lease = 1s;
  Port child(with);
  child.start([&kept](const std::string& from, std::uint64_t tag, Port::Parts parts, Port::Answer answer) {
    tag == kNeverAnswered ? kept.serve()(from, tag, parts, std::move(answer)) : answer(std::move(parts));
  });
  const std::string line = child.address() + "\n";
  BOOST_REQUIRE(::write(3, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  (void)!::read(0, secret.data(), 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(port_core)

/// Runs first: later cases may still see threads of earlier ones end.
BOOST_AUTO_TEST_CASE(ports_come_and_go_five_times_and_leave_the_process_as_it_was) {
  struct sigaction before[32];
  for (int number = 1; number < 32; ++number) ::sigaction(number, nullptr, &before[number]);
  std::thread([] {}).join();  // creates the sanitizer's own thread, if any
  const std::size_t threads = entries("/proc/self/task");
  std::size_t descriptors = 0;
  for (int round = 0; round < 5; ++round) {
    {
      Two two;
      BOOST_TEST(call(two.a, "b", "hello") == "hello");
      BOOST_TEST(soon(
          [&] { return two.a.counts().threads + two.b.counts().threads == entries("/proc/self/task") - threads; }));
      BOOST_TEST(two.a.stop());
      BOOST_TEST(two.a.counts().threads == 0U);
    }
    BOOST_TEST(soon([&] { return entries("/proc/self/task") == threads; }));
    if (round == 0) descriptors = entries("/proc/self/fd");  // libsodium keeps one
    BOOST_TEST(entries("/proc/self/fd") == descriptors);
  }
  for (int number = 1; number < 32; ++number) {
    struct sigaction after {};
    ::sigaction(number, nullptr, &after);
    BOOST_TEST((after.sa_handler == before[number].sa_handler));
  }
}

BOOST_AUTO_TEST_CASE(peer_that_dies_while_a_send_is_under_way_ends_all_calls_to_it_with_its_connection,
                     *boost::unit_test::label("fault-F12")) {
  testing::Changes changes;
  bool released = false;
  Port::Part large = part_of(std::string(64 << 20, 'x'), [&] { changes.change([&] { released = true; }); });
  const std::string secret = Port::draw_secret();
  Port a(options("a", secret));
  ChildProcess child(secret);
  a.connect("child", child.address());
  BOOST_REQUIRE_EQUAL(call(a, "child", "hello"), "hello");
  Pending asked = start_call(a, "child", "x", kNeverAnswered, Port::kNoDeadline);
  child.signal(SIGSTOP);  // stops reading, so that the following data cannot be sent completely
  Pending sending;
  a.call("child", kEcho, {std::exchange(large, {})}, Port::kNoDeadline, sending.done());
  BOOST_REQUIRE_EQUAL(a.counts().open, 2U);
  child.signal(SIGKILL);
  BOOST_TEST(asked.get() == "peer_lost: child is gone: connection closed");  // not its silence
  BOOST_TEST(sending.get() == "peer_lost: child is gone: connection closed");
  BOOST_TEST(call(a, "child", "x") == "peer_lost: child is gone: connection closed");
  testing::eventually(
      kPatience, changes, [&] { return released; }, [] { return "the part is still held"; });
}

BOOST_AUTO_TEST_CASE(peer_that_stops_in_a_debugger_is_lost_only_if_both_ports_have_a_lease,
                     *boost::unit_test::label("fault-F13")) {
  const std::string secret = Port::draw_secret();
  ChildProcess child(secret);
  Port::Options with = options("judge", secret);
  with.heartbeat = 20ms;
  with.lease = 1s;
  Port judge(with);
  Port patient(options("patient", secret));
  judge.connect("child", child.address());
  patient.connect("child", child.address());
  BOOST_REQUIRE_EQUAL(call(judge, "child", "hello"), "hello");
  BOOST_REQUIRE_EQUAL(call(patient, "child", "hello"), "hello");
  Pending judged = start_call(judge, "child", "x", kNeverAnswered, Port::kNoDeadline);
  Pending kept = start_call(patient, "child", "x", kNeverAnswered, Port::kNoDeadline);
  child.signal(SIGSTOP);
  const std::string why = judged.get();
  BOOST_TEST(why.starts_with("peer_lost: nothing was heard of child for 1"), why);
  BOOST_TEST(patient.counts().open == 1U);
  child.signal(SIGCONT);
  BOOST_TEST(call(patient, "child", "again") == "again");
}

BOOST_AUTO_TEST_CASE(forked_child_that_exits_does_not_hang_and_the_parents_ports_go_on) {
  Kept kept;
  auto two = std::make_unique<Two>(kept.serve());
  two->a.start(echo);
  Pending open = start_call(two->a, "b", "x");
  kept.wait(1);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {  // reports by its exit status, because the test's report is the parent's
    bool stopped = false;
    two->a.call("b", kEcho, {part_of("x")}, kPatience,
                [&](const Port::Result& result) { stopped = result.outcome == Port::Outcome::stopped; });
    two->a.connect("c", "tcp://127.0.0.1:1");
    two->a.remove("b");
    kept.answers[0]({part_of("from the child")});
    kept.answers.clear();
    const bool counted = two->a.counts().threads == 0;
    const bool ended = two->a.stop();
    two.reset();  // as when a program that owns it ends
    ::_exit(stopped && counted && ended ? 0 : 1);
  }
  int status = -1;
  bool has_ended = false;
  BOOST_TEST(soon([&] { return has_ended = has_ended || ::waitpid(child, &status, WNOHANG) == child; }));
  if (!has_ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  kept.answers[0]({part_of("from the parent")});
  BOOST_TEST(open.get() == "from the parent");
  BOOST_TEST(call(two->b, "a", "still here") == "still here");
}

BOOST_AUTO_TEST_CASE(stop_ends_open_calls_here_and_at_the_peers_and_the_process_lives_on) {
  Kept kept;
  Two two(kept.serve());
  Pending open = start_call(two.a, "b", "x");
  kept.wait(1);
  Pending at_peer = start_call(two.b, "a", "x");
  BOOST_TEST(two.a.stop());
  BOOST_TEST(two.a.stop());  // a second stop
  BOOST_TEST(open.get() == "stopped: the port has stopped");
  BOOST_TEST(call(two.a, "b", "x") == "stopped: the port has stopped");
  BOOST_TEST(call(two.a, "a", "x") == "stopped: the port has stopped");
  BOOST_TEST(at_peer.get() == "peer_lost: a has stopped");
  BOOST_TEST(two.a.counts().open == 0U);
  kept.answers[0]({part_of("nobody waits")});

  Port again(options("a", two.secret));
  again.start(echo);
  again.connect("b", two.b.address());
  Pending after = start_call(again, "b", "x");
  kept.wait(2);
  kept.answers[1]({part_of("alive")});
  BOOST_TEST(after.get() == "alive");
  BOOST_TEST(call(two.b, "a", "there") == "there");
}

BOOST_AUTO_TEST_CASE(every_call_to_a_removed_peer_ends_once_whichever_allocation_is_refused) {
  for (std::size_t n = 1; n <= 40; ++n) {
    Kept kept;
    Two two(kept.serve());
    std::vector<Pending> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(start_call(two.a, "b", "x", kEcho, Port::kNoDeadline));
    kept.wait(3);
    try {
      const testing::RefusedAllocation refused(n);  // this thread, which asks, also ends the calls
      two.a.remove("b");
    } catch (const std::bad_alloc&) {
      two.a.remove("b");
    }
    for (Pending& call : calls) {
      const std::string end = call.get();
      BOOST_TEST((end == "peer_lost: b was removed by this port" || end.starts_with("stopped: ")), end);
    }
    BOOST_TEST(two.a.counts().open == 0U);
  }
}

BOOST_AUTO_TEST_CASE(call_without_memory_is_not_made_or_ends_once_and_its_parts_are_released) {
  for (const std::string peer : {"b", "nobody"}) {
    for (std::size_t n = 1; n <= 60; ++n) {
      Two two;
      BOOST_REQUIRE_EQUAL(call(two.a, "b", "hello"), "hello");
      testing::Changes changes;
      bool released = false;  // guarded by changes
      Port::Parts parts{part_of("x", [&] { changes.change([&] { released = true; }); })};
      Pending pending;
      Port::Done done = pending.done();
      bool made = true;
      try {
        const testing::RefusedAllocation refused(n);
        two.a.call(peer, kEcho, std::move(parts), Port::kNoDeadline, std::move(done));
      } catch (const std::bad_alloc&) {
        made = false;
        parts.clear();
      }
      const std::string end = made ? pending.get() : "not made";
      BOOST_TEST((end == "not made" || end.starts_with("stopped: ") ||
                  end == (peer == "b" ? "x" : "peer_lost: nobody was never connected")),
                 end);
      two.a.stop();
      BOOST_TEST(two.a.counts().open == 0U);
      testing::eventually(
          kPatience, changes, [&] { return released; }, [] { return "the part is still held"; });
      BOOST_TEST((made || pending.future.wait_for(0s) == std::future_status::timeout));
    }
  }
}

BOOST_AUTO_TEST_CASE(request_dropped_without_memory_ends_its_call_at_the_latest_with_its_port) {
  for (std::size_t n = 1; n <= 20; ++n) {
    Kept kept;
    Two two(kept.serve());
    Pending asked = start_call(two.a, "b", "x", kEcho, Port::kNoDeadline);
    kept.wait(1);
    {
      const testing::RefusedAllocation refused(n);
      kept.answers.clear();
    }
    two.b.stop();
    const std::string end = asked.get();
    BOOST_TEST(end.starts_with("peer_lost: b "), end);
  }
}

BOOST_AUTO_TEST_CASE(port_stops_and_ends_its_calls_whichever_allocation_is_refused) {
  for (std::size_t n = 1; n <= 30; ++n) {
    Kept kept;
    Two two(kept.serve());
    std::vector<Pending> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(start_call(two.a, "b", "x", kEcho, Port::kNoDeadline));
    kept.wait(3);
    {
      const testing::RefusedAllocation refused(n);
      two.a.stop();
    }
    for (Pending& call : calls) {
      const std::string end = call.get();
      BOOST_TEST(end.starts_with("stopped: "), end);
    }
    BOOST_TEST(two.a.counts().open == 0U);
    BOOST_TEST(two.a.counts().threads == 0U);
  }
}

BOOST_AUTO_TEST_CASE(answers_given_when_the_port_stops_are_delivered_and_every_call_ends_once) {
  int answered_in_all = 0;
  for (int round = 0; round < 25; ++round) {
    testing::Changes changes;
    int begun = 0;
    std::atomic<int> given{0};
    Two two([&](const std::string&, std::uint64_t, Port::Parts parts, const Port::Answer& answer) {
      changes.change([&] { ++begun; });
      answer(std::move(parts));
      ++given;
    });
    std::vector<Pending> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(start_call(two.a, "b", i % 2 == 0 ? "x" : std::string(100'000, 'x')));
    testing::eventually(
        kPatience, changes, [&] { return begun > round % 20; }, [&] { return begun; });
    BOOST_TEST(two.b.stop());
    int answered = 0;
    for (Pending& call : calls) {
      const std::string end = call.get();
      const bool lost = end == "peer_lost: b has stopped" || end == "peer_lost: b is gone: disconnected by the peer" ||
                        end == "peer_lost: b dropped the request without an answer" ||
                        end == "peer_lost: b is gone: connection closed";
      BOOST_TEST((lost || end[0] == 'x'), end);
      answered += end[0] == 'x' ? 1 : 0;
    }
    BOOST_TEST(answered == given);
    answered_in_all += answered;
  }
  BOOST_TEST_MESSAGE(answered_in_all << " of 500 calls were answered before the end");
}

BOOST_AUTO_TEST_CASE(answer_that_its_caller_does_not_take_keeps_stop_until_its_grace_ends) {
  std::promise<void> held;
  std::promise<void> go_on;
  std::atomic<bool> first{true};
  const std::string secret = Port::draw_secret();
  Port::Options with = options("a", secret);
  with.log = [&](const std::string&) {  // on a's input/output thread
    if (!first.exchange(false)) return;
    held.set_value();
    go_on.get_future().wait();
  };
  Kept kept;
  Port a(std::move(with));
  Port b(options("b", secret));
  b.start(kept.serve());
  a.connect("b", b.address());
  Pending pending = start_call(a, "b", "x");
  kept.wait(1);
  Port stranger(options("stranger", {}));
  stranger.connect("a", a.address());
  BOOST_REQUIRE((held.get_future().wait_for(kPatience) == std::future_status::ready));
  kept.answers[0]({part_of("late")});
  BOOST_TEST(!b.stop(100ms));
  go_on.set_value();
  BOOST_TEST((pending.get() != "no end within 10 s"));
}

BOOST_AUTO_TEST_CASE(serve_that_does_not_end_delays_stop_no_longer_than_its_grace) {
  auto begun = std::make_shared<std::promise<void>>();
  auto released = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  Two two([=](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer&) {
    begun->set_value();
    released->get_future().wait();
    ended->set_value();
  });
  Pending pending = start_call(two.a, "b", "x", kEcho, Port::kNoDeadline);
  BOOST_REQUIRE((begun->get_future().wait_for(kPatience) == std::future_status::ready));
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(!two.b.stop(100ms));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s));
  BOOST_TEST(pending.get().starts_with("peer_lost: b "));
  released->set_value();
  BOOST_TEST((ended->get_future().wait_for(kPatience) == std::future_status::ready));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
