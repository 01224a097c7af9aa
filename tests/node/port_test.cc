// The guarantees for a bridge: creating and connecting ports, calls and their ends.
#include "node/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "tensor/math_threads.h"
#include "tests/support/two_ports.h"

std::string round_trip_in_cxx17();

namespace troupe {
BOOST_AUTO_TEST_SUITE(port)

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
using testing::text_of;
using testing::Two;
using Outcome = Port::Outcome;

}  // namespace

BOOST_AUTO_TEST_CASE(cxx17_program_makes_a_call_with_nothing_but_the_header) {
  BOOST_TEST(round_trip_in_cxx17() == "pong 7");
}

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
  BOOST_TEST(text(options("no spaces", {})).find("\"no spaces\" is not 1 to 127 of A-Z a-z 0-9 - _ : .") !=
             std::string::npos);
  BOOST_TEST(text(options("a", "short")) == "[port] secret of 5 bytes, expected 32");
  Port a(options("a", {}));
  BOOST_CHECK_THROW(a.connect("no spaces", a.address()), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(port_bound_to_all_addresses_tells_one_where_it_can_be_called) {
  const std::string secret = Port::draw_secret();
  const auto open_to_all = [&](const std::string& bind, const std::string& advertise) {
    Port::Options with = options("b", secret);
    with.bind = bind;
    with.trusted_network = true;
    with.advertise = advertise;
    return with;
  };
  Port a(options("a", secret));
  a.start(echo);
  const auto check = [&](const Port::Options& with, const std::string& host) {
    Port b(with);
    b.start(echo);
    BOOST_TEST(b.address().starts_with("tcp://" + host + ":"), b.address());
    BOOST_TEST(std::stoi(b.address().substr(b.address().rfind(':') + 1)) > 0);
    a.connect("b", b.address());
    BOOST_TEST(call(a, "b", "there") == "there");
    BOOST_TEST(call(b, "a", "and back") == "and back");
  };
  check(open_to_all("tcp://0.0.0.0:0", "tcp://127.0.0.1:0"), "127.0.0.1");
  check(open_to_all("tcp://0.0.0.0:0", "tcp://lo:0"), "127.0.0.1");  // by the interface's name
  check(open_to_all("tcp://0.0.0.0:0", "tcp://127.0.0.2:0"), "127.0.0.2");
  const Port unsaid(open_to_all("tcp://0.0.0.0:0", {}));
  BOOST_TEST(!unsaid.address().starts_with("tcp://0.0.0.0:"), unsaid.address());
}

BOOST_AUTO_TEST_CASE(connected_name_is_sought_at_another_address_and_called_where_it_was_if_no_other_is_found_there) {
  const auto says = [](const std::string& who) {
    return [who](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer& answer) {
      answer({part_of(who)});
    };
  };
  const std::string secret = Port::draw_secret();
  Port::Options patient = options("a", secret);
  patient.connect_patience = 1h;
  Port a(patient);
  Port b(options("b", secret));
  b.start(says("first"));
  a.connect("b", b.address());
  BOOST_TEST(call(a, "b", "") == "first");
  a.connect("b", "tcp://localhost" + b.address().substr(b.address().rfind(':')));  // another form of its address
  BOOST_TEST(call(a, "b", "") == "first");
  Port other(options("b", secret));
  other.start(says("second"));
  a.connect("b", other.address());  // its name is in use
  BOOST_TEST(call(a, "b", "") == "first");
  b.stop();
  a.connect("b", other.address());
  BOOST_TEST(call(a, "b", "") == "second");
}

BOOST_AUTO_TEST_CASE(times_out_of_their_range_and_addresses_that_are_none_are_refused) {
  const auto text = [](const std::function<void(Port::Options&)>& change) {
    Port::Options with = options("a", {});
    change(with);
    try {
      const Port port(std::move(with));
      return std::string("made");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  BOOST_TEST(text([](auto& with) { with.lease = 999ms; }) == "[port] lease of 999 ms is not in 1000 to 86400000 ms");
  BOOST_TEST(text([](auto& with) { with.lease = 1s; }) == "made");
  BOOST_TEST(text([](auto& with) { with.heartbeat = 9ms; }) == "[port] heartbeat of 9 ms is not in 10 to 10000 ms");
  BOOST_TEST(text([](auto& with) { with.handshake_timeout = 0ms; }) ==
             "[port] handshake_timeout of 0 ms is not in 1 to 86400000 ms");
  BOOST_TEST(text([](auto& with) { with.connect_patience = Port::Time::max(); }).find("[port] connect_patience of ") ==
             0U);
  BOOST_TEST(text([](auto& with) { with.advertise = "127.0.0.1"; }) ==
             "[port] advertise: \"127.0.0.1\" is not tcp://HOST:PORT");
  BOOST_TEST(text([](auto& with) { with.advertise = "tcp://0.0.0.0:0"; }) ==
             "[port] advertise: peers cannot connect to \"tcp://0.0.0.0:0\"");
}

BOOST_AUTO_TEST_CASE(connection_without_an_answer_is_made_anew_after_the_handshake_timeout) {
  const detail::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                ::listen(listener.get(), 100) == 0);
  BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  Port::Options with = options("a", {});
  with.connect_patience = 500ms;
  with.handshake_timeout = 50ms;
  Port a(with);
  a.connect("b", "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  BOOST_TEST(call(a, "b", "x").starts_with("peer_lost: b cannot be reached"));
  int connections = 0;
  for (;; ++connections) {
    const detail::FileDescriptor accepted(::accept(listener.get(), nullptr, nullptr));
    if (!accepted.is_open()) break;
  }
  BOOST_TEST(connections > 1);
}

BOOST_AUTO_TEST_CASE(foreign_code_has_as_many_openmp_threads_as_on_any_thread) {
  int elsewhere = 0;
  std::thread([&] { elsewhere = MathThreads::current(); }).join();
  Two two([](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer& answer) {
    answer({part_of(std::to_string(MathThreads::current()))});
  });
  BOOST_TEST(call(two.a, "b", "x") == std::to_string(elsewhere));
  std::promise<int> in_done;
  two.a.call("b", kEcho, {}, kPatience, [&](const Port::Result&) { in_done.set_value(MathThreads::current()); });
  BOOST_TEST(in_done.get_future().get() == elsewhere);
}

BOOST_AUTO_TEST_CASE(port_without_a_secret_or_with_another_can_be_called_by_itself_only) {
  Port closed(options("closed", {}));
  closed.start(echo);
  Port other(options("other", Port::draw_secret()));
  other.connect("closed", closed.address());
  BOOST_TEST(call(other, "closed", "x") == "peer_lost: closed cannot be reached: the cluster secrets differ");
  BOOST_TEST(call(closed, "closed", "x") == "x");
}

BOOST_AUTO_TEST_CASE(port_at_a_unix_socket_and_one_at_tcp_cannot_call_each_other_and_are_told_so) {
  const std::string secret = Port::draw_secret();
  Port a(options("a", secret));
  Port::Options with = options("b", secret);
  with.bind = "ipc://@troupe-port-test-kind-" + std::to_string(::getpid());
  Port b(with);
  b.start(echo);
  a.connect("b", b.address());
  const std::string end = call(a, "b", "x");
  BOOST_TEST((end.find(": both must be of one kind") != std::string::npos ||
              end == "peer_lost: b is gone: disconnected by the peer"),
             end);
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
  BOOST_TEST(
      call(hasty, "gone", "x").starts_with("peer_lost: gone cannot be reached: " + gone + " refused every connection"));
}

BOOST_AUTO_TEST_CASE(peers_are_added_and_removed_while_others_go_on) {
  Kept kept;
  Two two(kept.serve());
  Port c(options("c", two.secret));
  c.start(echo);
  two.a.connect("c", c.address());
  Pending open = start_call(two.a, "b", "x");
  kept.wait(1);
  Pending seen_by_b = start_call(two.b, "a", "x");  // a serves no calls
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

BOOST_AUTO_TEST_CASE(removed_name_is_usable_again_when_a_new_port_comes_under_it) {
  Two two;
  two.a.start(echo);
  BOOST_TEST(call(two.a, "b", "x") == "x");
  two.a.remove("b");
  BOOST_TEST(call(two.a, "b", "x") == "peer_lost: b was removed by this port");
  BOOST_TEST(two.b.stop());
  Port again(options("b", two.secret));
  again.start(echo);
  again.connect("a", two.a.address());
  BOOST_TEST(call(again, "a", "1") == "1");
  BOOST_TEST(call(two.a, "b", "2") == "2");
}

BOOST_AUTO_TEST_CASE(name_removed_before_anybody_was_there_is_usable_when_it_comes) {
  const std::string secret = Port::draw_secret();
  const auto at = [&](const std::string& name) {
    Port::Options with = options(name, secret);
    with.bind = "ipc://@troupe-port-test-" + std::to_string(::getpid()) + name;
    return with;
  };
  Port a(at("a"));
  a.start(echo);
  const Port::Options later = at("b");
  a.connect("b", later.bind);
  Pending waits = start_call(a, "b", "x");
  a.remove("b");
  BOOST_TEST(waits.get() == "peer_lost: b was removed by this port");
  Port b(later);
  b.start(echo);
  b.connect("a", a.address());
  BOOST_TEST(call(b, "a", "1") == "1");
  BOOST_TEST(call(a, "b", "2") == "2");
}

BOOST_AUTO_TEST_CASE(parts_of_all_sizes_arrive_and_their_owners_are_released_under_no_lock) {
  testing::Changes changes;
  int released = 0;
  Two two;
  const auto release = [&] {
    (void)two.a.counts();
    two.a.set_fault(99, {});  // takes every lock
    changes.change([&] { ++released; });
  };
  const std::string large(3 << 20, 'x');
  Pending pending;
  two.a.call("b", kEcho, {part_of("small", release), {}, part_of(large, release), part_of("end", release)}, kPatience,
             pending.done());
  const Port::Result result = pending.future.get();
  BOOST_REQUIRE(result.outcome == Outcome::answered);
  BOOST_REQUIRE_EQUAL(result.parts.size(), 4U);
  BOOST_TEST(text_of({result.parts[0]}) == "small");
  BOOST_TEST(result.parts[1].size == 0U);
  BOOST_TEST((text_of({result.parts[2]}) == large));
  BOOST_TEST(text_of({result.parts[3]}) == "end");
  testing::eventually(
      kPatience, changes, [&] { return released == 3; }, [&] { return released; });
}

BOOST_AUTO_TEST_CASE(release_of_an_owner_may_wait_for_a_call_since_no_thread_that_the_port_needs_runs_it) {
  Two two;
  auto heard = std::make_shared<std::promise<std::string>>();
  Pending pending;
  const std::string large(1 << 20, 'x');
  two.a.call("b", kEcho, {part_of(large, [&two, heard] { heard->set_value(call(two.a, "b", "from a release")); })},
             kPatience, pending.done());
  BOOST_TEST((pending.get() == large));
  BOOST_TEST(heard->get_future().get() == "from a release");
}

BOOST_AUTO_TEST_CASE(calls_to_oneself_are_alike_and_share_the_memory) {
  Port alone(options("alone", {}));
  const Port::Part part = part_of("here");
  alone.start(
      [data = part.data](const std::string& from, std::uint64_t tag, Port::Parts parts, const Port::Answer& answer) {
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

BOOST_AUTO_TEST_CASE(request_whose_caller_has_stopped_waiting_is_not_served) {
  Two two(nullptr, 1);
  BOOST_TEST(call(two.a, "b", "late", kEcho, 50ms) == "timeout: no answer within 50 ms");
  BOOST_TEST(call(two.a, "b", "later", kEcho, 50ms) == "timeout: no answer within 50 ms");
  BOOST_TEST(call(two.b, "b", "own", kEcho, 1ms) == "timeout: no answer within 1 ms");
  testing::Changes changes;
  std::vector<std::string> served;  // written by b's only thread before it answers the last call
  two.b.start([&](const std::string&, std::uint64_t, Port::Parts parts, const Port::Answer& answer) {
    changes.change([&] { served.push_back(text_of(parts)); });
    answer(std::move(parts));
  });
  BOOST_TEST(call(two.a, "b", "in time") == "in time");
  changes.change([&] {
    BOOST_TEST(std::count(served.begin(), served.end(), "late") == 0);
    BOOST_TEST(std::count(served.begin(), served.end(), "own") == 0);
  });
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
  Two two(nullptr, 1);
  two.b.start([&](const std::string&, std::uint64_t, const Port::Parts&, const Port::Answer& answer) {
    answer({part_of("b got " + call(two.b, "a", "x"))});
  });
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
      for (int i = 0; i < 250; ++i)
        right += calls[static_cast<std::size_t>(i)].get() == std::to_string(1000 * thread + i) ? 1 : 0;
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
