// What a bridge relies on, over real connections: within this process, and with a process that dies.
#include "node/port.h"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/eventually.h"

extern char** environ;
std::string round_trip_in_cxx17();

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Outcome = Port::Outcome;

constexpr auto kPatience = 10s;
constexpr std::uint64_t kEcho = 1;
constexpr std::uint64_t kNeverAnswered = 2;

Port::Part part_of(const std::string& text, std::function<void()> released = [] {}) {
  auto text_owner = std::make_shared<const std::string>(text);
  std::shared_ptr<const void> owner(text_owner.get(), [text_owner, released = std::move(released)](const void*) { released(); });
  return {text_owner->data(), text_owner->size(), std::move(owner)};
}

std::string text_of(const Port::Parts& parts) {
  std::string text;
  for (const Port::Part& part : parts) text.append(static_cast<const char*>(part.data), part.size);
  return text;
}

Port::Options options(const std::string& name, const std::string& secret) {
  Port::Options with;
  with.name = name;
  with.secret = secret;
  with.connect_patience = 2s;
  return with;
}

/// "timeout: no answer within 5 ms", or the text that was answered.
std::string describe(const Port::Result& result) {
  static const std::map<Outcome, std::string> names{
      {Outcome::answered, "answered"}, {Outcome::timeout, "timeout"}, {Outcome::peer_lost, "peer_lost"}, {Outcome::stopped, "stopped"}};
  return result.outcome == Outcome::answered ? text_of(result.parts) : names.at(result.outcome) + ": " + result.why;
}

/// One call under way; a second `done` throws, which ends the test.
struct Pending {
  std::shared_ptr<std::promise<Port::Result>> promise = std::make_shared<std::promise<Port::Result>>();
  std::future<Port::Result> future = promise->get_future();

  Port::Done done() const {
    return [promise = promise](Port::Result result) { promise->set_value(std::move(result)); };
  }
  std::string get() {
    if (future.wait_for(kPatience) != std::future_status::ready) return "no end within 10 s";
    return describe(future.get());
  }
};

Pending start_call(Port& from, const std::string& to, const std::string& text, std::uint64_t tag = kEcho,
                   Port::Time deadline = kPatience) {
  Pending pending;
  from.call(to, tag, {part_of(text)}, deadline, pending.done());
  return pending;
}

std::string call(Port& from, const std::string& to, const std::string& text, std::uint64_t tag = kEcho,
                 Port::Time deadline = kPatience) {
  return start_call(from, to, text, tag, deadline).get();
}

void echo(const std::string&, std::uint64_t, Port::Parts parts, const Port::Answer& answer) { answer(std::move(parts)); }

/// Ports a and b; a has connected to b, b serves `serve`.
struct Two {
  explicit Two(Port::Serve serve = echo, unsigned threads = 64) : b(with(threads, "b")) {
    if (serve) b.start(std::move(serve));
    a.connect("b", b.address());
  }
  Port::Options with(unsigned threads, const std::string& name) const {
    Port::Options all = options(name, secret);
    all.threads = threads;
    return all;
  }
  std::string secret = Port::draw_secret();
  Port a{options("a", secret)};
  Port b;
};

/// Keeps answers for later.
struct Kept {
  Port::Serve serve() {
    return [this](const std::string&, std::uint64_t, const Port::Parts&, Port::Answer answer) {
      changes.change([&] { answers.push_back(std::move(answer)); });
    };
  }
  void wait(std::size_t count) const {
    testing::eventually(kPatience, changes, [&] { return answers.size() >= count; }, [&] { return answers.size(); });
  }
  testing::Changes changes;
  std::vector<Port::Answer> answers;
};

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for (auto entry = std::filesystem::directory_iterator(folder); entry != std::filesystem::directory_iterator(); ++entry) ++count;
  return count;
}

/// Threads that have been told to end leave the kernel's list a moment later.
bool soon(const std::function<bool()>& holds) {
  const auto due = std::chrono::steady_clock::now() + kPatience;
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

/// This program once more, as port "child" in a process of its own: echoes, and never answers kNeverAnswered.
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

/// Not a test: the process that ChildProcess starts. Ends when its parent does.
BOOST_AUTO_TEST_CASE(run_a_port_until_killed) {
  std::string secret(32, '\0');
  if (::fcntl(3, F_GETFD) < 0 || ::read(0, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size())) return;
  Kept kept;
  Port child(options("child", secret));
  child.start([&kept](const std::string& from, std::uint64_t tag, Port::Parts parts, Port::Answer answer) {
    tag == kNeverAnswered ? kept.serve()(from, tag, parts, std::move(answer)) : answer(std::move(parts));
  });
  const std::string line = child.address() + "\n";
  BOOST_REQUIRE(::write(3, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  (void)!::read(0, secret.data(), 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(port)

// --- Making ports and connecting them --------------------------------------------------------------------------------

/// The first case: later ones may still see threads of earlier ones end.
BOOST_AUTO_TEST_CASE(ports_come_and_go_five_times_and_leave_the_process_as_it_was) {
  struct sigaction before[32];
  for (int number = 1; number < 32; ++number) ::sigaction(number, nullptr, &before[number]);
  const std::size_t threads = entries("/proc/self/task");
  std::size_t descriptors = 0;
  for (int round = 0; round < 5; ++round) {
    {
      Two two;
      BOOST_TEST(call(two.a, "b", "hello") == "hello");
      BOOST_TEST(soon([&] { return two.a.counts().threads + two.b.counts().threads == entries("/proc/self/task") - threads; }));
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

BOOST_AUTO_TEST_CASE(cxx17_program_makes_a_call_with_nothing_but_the_header) { BOOST_TEST(round_trip_in_cxx17() == "pong 7"); }

BOOST_AUTO_TEST_CASE(address_is_known_before_any_peer_and_has_the_port_that_was_free) {
  const Port alone(options("alone", {}));
  const std::string address = alone.address();
  BOOST_TEST(address.starts_with("tcp://127.0.0.1:"));
  BOOST_TEST(std::stoi(address.substr(address.rfind(':') + 1)) > 0);
}

BOOST_AUTO_TEST_CASE(one_side_connects_and_both_can_call_by_name) {
  Two two;
  two.a.start([](const std::string& from, std::uint64_t tag, const Port::Parts& parts, const Port::Answer& answer) {
    answer({part_of(from + std::to_string(tag) + text_of(parts))});
  });
  BOOST_TEST(call(two.a, "b", "hello") == "hello");
  BOOST_TEST(call(two.b, "a", "!", 18446744073709551615U) == "b18446744073709551615!");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_bound_is_refused_with_the_reason) {
  const auto text = [](Port::Options with) {
    try {
      const Port port(std::move(with));
      return std::string("bound");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  Port::Options open_to_all = options("a", {});
  open_to_all.bind = "tcp://0.0.0.0:0";
  BOOST_TEST(text(open_to_all).find("tcp://0.0.0.0:0 can be reached from other machines") != std::string::npos);
  open_to_all.trusted_network = true;
  BOOST_TEST(text(open_to_all) == "bound");
  BOOST_TEST(text(options("no spaces", {})).find("\"no spaces\" is not 1 to 127 of A-Z a-z 0-9 - _ : .") != std::string::npos);
  BOOST_TEST(text(options("a", "short")) == "[port] secret of 5 bytes, expected 32");
  Port a(options("a", {}));
  BOOST_CHECK_THROW(a.connect("no spaces", a.address()), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(port_without_a_secret_or_with_another_can_be_called_by_itself_only) {
  Port closed(options("closed", {}));
  closed.start(echo);
  Port other(options("other", Port::draw_secret()));
  other.connect("closed", closed.address());
  BOOST_TEST(call(other, "closed", "x") == "peer_lost: closed cannot be reached: the cluster secrets differ");
  BOOST_TEST(call(closed, "closed", "x") == "x");
}

BOOST_AUTO_TEST_CASE(name_nobody_has_and_a_place_where_nobody_listens_end_the_call_as_peer_lost) {
  Two two;
  BOOST_TEST(call(two.a, "nobody", "x") == "peer_lost: nobody was never connected");
  two.a.connect("c", two.b.address());
  BOOST_TEST(call(two.a, "c", "x") == "peer_lost: the port at " + two.b.address() + " calls itself b, not c");
  std::string gone;
  {
    const Port short_lived(options("gone", two.secret));
    gone = short_lived.address();
  }
  Port hasty([&] {
    Port::Options with = options("hasty", two.secret);
    with.connect_patience = 200ms;
    return with;
  }());
  hasty.connect("gone", gone);
  BOOST_TEST(call(hasty, "gone", "x").starts_with("peer_lost: gone cannot be reached: " + gone + " refused every connection"));
}

BOOST_AUTO_TEST_CASE(peers_are_added_and_removed_while_others_go_on) {
  Kept kept;
  Two two(kept.serve());
  Port c(options("c", two.secret));
  c.start(echo);
  two.a.connect("c", c.address());
  Pending open = start_call(two.a, "b", "x");
  kept.wait(1);
  Pending seen_by_b = start_call(two.b, "a", "x");  // a serves nothing
  BOOST_TEST(call(two.a, "c", "1") == "1");
  two.a.remove("b");
  BOOST_TEST(open.get() == "peer_lost: b was removed by this port");
  BOOST_TEST(call(two.a, "b", "x") == "peer_lost: b was removed by this port");
  BOOST_TEST(seen_by_b.get() == "peer_lost: a is gone: disconnected by the peer");
  BOOST_TEST(call(two.a, "c", "2") == "2");

  BOOST_TEST(two.b.stop());
  Port again(options("b", two.secret));
  again.start(echo);
  two.a.connect("b", again.address());
  BOOST_TEST(call(two.a, "b", "new") == "new");
}

// --- Calls and their ends --------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(parts_of_all_sizes_arrive_and_their_owners_are_released_under_no_lock) {
  Two two;
  testing::Changes changes;
  int released = 0;
  const auto release = [&] {
    (void)two.a.counts();
    two.a.set_fault(99, {});  // takes every lock there is
    changes.change([&] { ++released; });
  };
  const std::string large(3 << 20, 'x');
  Pending pending;
  two.a.call("b", kEcho, {part_of("small", release), {}, part_of(large, release), part_of("end", release)}, kPatience, pending.done());
  const Port::Result result = pending.future.get();
  BOOST_REQUIRE(result.outcome == Outcome::answered);
  BOOST_REQUIRE_EQUAL(result.parts.size(), 4U);
  BOOST_TEST(text_of({result.parts[0]}) == "small");
  BOOST_TEST(result.parts[1].size == 0U);
  BOOST_TEST((text_of({result.parts[2]}) == large));
  BOOST_TEST(text_of({result.parts[3]}) == "end");
  testing::eventually(kPatience, changes, [&] { return released == 3; }, [&] { return released; });
}

BOOST_AUTO_TEST_CASE(release_of_an_owner_may_wait_for_a_call_since_no_thread_that_the_port_needs_runs_it) {
  Two two;
  auto heard = std::make_shared<std::promise<std::string>>();
  Pending pending;
  const std::string large(1 << 20, 'x');
  two.a.call("b", kEcho, {part_of(large, [&two, heard] { heard->set_value(call(two.a, "b", "from a release")); })}, kPatience,
             pending.done());
  BOOST_TEST((pending.get() == large));
  BOOST_TEST(heard->get_future().get() == "from a release");
}

BOOST_AUTO_TEST_CASE(calls_to_oneself_are_alike_and_share_the_memory) {
  Port alone(options("alone", {}));
  const Port::Part part = part_of("here");
  alone.start([data = part.data](const std::string& from, std::uint64_t tag, Port::Parts parts, const Port::Answer& answer) {
    if (tag == kEcho && from == "alone" && parts.at(0).data == data) answer(std::move(parts));
  });
  Pending pending;
  alone.call("alone", kEcho, {part}, kPatience, pending.done());
  BOOST_TEST(pending.get() == "here");
  BOOST_TEST(call(alone, "alone", "x", 5) == "peer_lost: alone dropped the request without an answer");
  alone.set_fault(kEcho, {.drop = true});
  BOOST_TEST(call(alone, "alone", "x", kEcho, 5ms) == "timeout: no answer within 5 ms");
}

BOOST_AUTO_TEST_CASE(requests_that_come_before_start_wait) {
  Two two(nullptr);
  Pending first = start_call(two.a, "b", "1");
  Pending second = start_call(two.a, "b", "2");
  Pending own = start_call(two.b, "b", "3");
  BOOST_TEST(call(two.a, "b", "x", kEcho, 50ms) == "timeout: no answer within 50 ms");
  two.b.start(echo);
  BOOST_TEST(first.get() + second.get() + own.get() == "123");
  BOOST_CHECK_THROW(two.b.start(echo), std::logic_error);
}

BOOST_AUTO_TEST_CASE(requests_of_one_peer_are_served_beside_each_other) {
  testing::Changes changes;
  int inside = 0;
  Two two([&](const std::string&, std::uint64_t, Port::Parts parts, const Port::Answer& answer) {
    changes.change([&] { ++inside; });
    if (changes.wait(kPatience, [&] { return inside == 3; })) answer(std::move(parts));
  });
  Pending calls[] = {start_call(two.a, "b", "1"), start_call(two.a, "b", "2"), start_call(two.a, "b", "3")};
  BOOST_TEST(calls[0].get() + calls[1].get() + calls[2].get() == "123");
}

BOOST_AUTO_TEST_CASE(serve_that_waits_for_a_call_has_it_ended_even_when_all_threads_wait) {
  Two* both = nullptr;
  Two two([&](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer& answer) {
    answer({part_of("b got " + call(both->b, "a", "x"))});
  }, 1);
  both = &two;
  two.a.start([&](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer& answer) {
    answer({part_of("a got " + call(two.a, "b", "y", kEcho, 50ms))});  // b's only thread waits for this answer
  });
  BOOST_TEST(call(two.a, "b", "x") == "b got a got timeout: no answer within 50 ms");
}

BOOST_AUTO_TEST_CASE(answer_is_given_later_by_any_thread_and_counts_once) {
  Kept kept;
  Two two(kept.serve());
  Pending pending = start_call(two.a, "b", "x");
  kept.wait(1);
  std::thread other([&] {
    kept.answers[0]({part_of("later")});
    kept.answers[0]({part_of("too late")});
  });
  BOOST_TEST(pending.get() == "later");
  other.join();
  Pending dropped = start_call(two.a, "b", "x");
  kept.wait(2);
  kept.changes.change([&] { kept.answers.clear(); });
  BOOST_TEST(dropped.get() == "peer_lost: b dropped the request without an answer");
}

BOOST_AUTO_TEST_CASE(deadline_ends_the_call_and_a_late_answer_changes_nothing) {
  Kept kept;
  Two two(kept.serve());
  BOOST_TEST(call(two.a, "b", "x", kEcho, 200ms) == "timeout: no answer within 200 ms");
  BOOST_TEST(call(two.a, "b", "x", kEcho, 0ms) == "timeout: the deadline had passed before the request was sent");
  kept.wait(1);
  kept.answers[0]({part_of("late")});
  Pending unlimited = start_call(two.a, "b", "x", kEcho, Port::kNoDeadline);
  kept.wait(2);
  kept.answers[1]({part_of("in time")});
  BOOST_TEST(unlimited.get() == "in time");
}

BOOST_AUTO_TEST_CASE(many_threads_call_at_once_and_every_call_ends_with_its_own_answer) {
  Two two;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<Pending> calls;
      for (int i = 0; i < 250; ++i) calls.push_back(start_call(two.a, "b", std::to_string(1000 * thread + i)));
      for (int i = 0; i < 250; ++i) right += calls[static_cast<std::size_t>(i)].get() == std::to_string(1000 * thread + i) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == 1000);
  BOOST_TEST(two.a.counts().started == 1000U);
  BOOST_TEST(two.a.counts().open == 0U);
}

BOOST_AUTO_TEST_CASE(fault_rules_fail_the_first_calls_delay_and_drop_those_of_their_tag) {
  Two two;
  two.a.set_fault(7, {.fail_count = 2, .delay = 50ms});
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(call(two.a, "b", "1", 7) == "peer_lost: failed on purpose by the rule for tag 7");
  BOOST_TEST(call(two.a, "b", "2", 7) == "peer_lost: failed on purpose by the rule for tag 7");
  BOOST_TEST(call(two.a, "b", "3", 7) == "3");
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 50ms));
  BOOST_TEST(call(two.a, "b", "4", 8) == "4");
  two.a.set_fault(7, {.drop = true});
  Pending dropped = start_call(two.a, "b", "5", 7);
  BOOST_TEST(call(two.a, "b", "6", 7, 20ms) == "timeout: no answer within 20 ms");
  two.a.set_fault(7, {});
  BOOST_TEST(call(two.a, "b", "7", 7) == "7");
  BOOST_TEST(two.a.counts().open == 1U);
  BOOST_TEST(two.a.stop());
  BOOST_TEST(dropped.get() == "stopped: the port has stopped");
}

// --- The end of a peer, and of a port --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(peer_that_dies_while_a_send_is_under_way_ends_all_calls_to_it_within_milliseconds,
                     *boost::unit_test::label("fault-F12")) {
  const std::string secret = Port::draw_secret();
  Port a(options("a", secret));
  ChildProcess child(secret);
  a.connect("child", child.address());
  BOOST_REQUIRE_EQUAL(call(a, "child", "hello"), "hello");
  Pending asked = start_call(a, "child", "x", kNeverAnswered, Port::kNoDeadline);
  child.signal(SIGSTOP);  // reads no more, so that what follows cannot be sent to its end
  testing::Changes changes;
  bool released = false;
  Pending sending;
  a.call("child", kEcho, {part_of(std::string(64 << 20, 'x'), [&] { changes.change([&] { released = true; }); })},
         Port::kNoDeadline, sending.done());
  BOOST_REQUIRE_EQUAL(a.counts().open, 2U);
  const auto killed = std::chrono::steady_clock::now();
  child.signal(SIGKILL);
  BOOST_TEST(asked.get() == "peer_lost: child is gone: connection closed");
  const std::chrono::duration<double, std::milli> noticed = std::chrono::steady_clock::now() - killed;
  BOOST_TEST_MESSAGE("noticed after " << noticed.count() << " ms");
  BOOST_TEST(noticed.count() < 700);  // before silence could tell
  BOOST_TEST(sending.get() == "peer_lost: child is gone: connection closed");
  BOOST_TEST(call(a, "child", "x") == "peer_lost: child is gone: connection closed");
  testing::eventually(kPatience, changes, [&] { return released; }, [] { return "the part is still held"; });
}

BOOST_AUTO_TEST_CASE(stop_ends_open_calls_here_and_at_the_peers_and_the_process_lives_on) {
  Kept kept;
  Two two(kept.serve());
  Pending open = start_call(two.a, "b", "x");
  kept.wait(1);
  Pending at_peer = start_call(two.b, "a", "x");
  BOOST_TEST(two.a.stop());
  BOOST_TEST(two.a.stop());  // the same again
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
    testing::eventually(kPatience, changes, [&] { return begun > round % 20; }, [&] { return begun; });
    BOOST_TEST(two.b.stop());
    int answered = 0;
    for (Pending& call : calls) {
      const std::string end = call.get();
      const bool lost = end == "peer_lost: b has stopped" || end == "peer_lost: b is gone: disconnected by the peer" ||
                        end == "peer_lost: b dropped the request without an answer" || end == "peer_lost: b is gone: connection closed";
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
