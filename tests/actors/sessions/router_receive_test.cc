#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tests/actors/sessions/router_pair.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(router_receive)

using namespace std::chrono_literals;
using boost::unit_test::label;

constexpr std::size_t kMiB = std::size_t{1} << 20;

msg::Reply reply_of(std::size_t bytes) {
  return {.value = {.bytes = make_frame(std::vector<std::byte>(bytes)), .tensors = {}, .refs = {}, .boundary = {}}};
}

/// Two routers. What is large goes from b to a over a line of 1 MB/s; all else arrives at once.
struct SlowPair : Pair {
  void call(Duration deadline) { a.request(now, call_to("b", now + deadline), into(answers)); }

  /// Answers the last request that b got.
  void answer(std::size_t bytes) {
    const auto last = std::ranges::find_if(b.arrived.rbegin(), b.arrived.rend(), [](const TestNode::Arrived& arrived) {
      return arrived.envelope.request.value != 0;
    });
    b.answer(now, a.life(), last->envelope.request, reply_of(bytes));
  }

  void call_and_answer(Duration deadline, std::size_t bytes) {
    call(deadline);
    pass(0ms);
    answer(bytes);
  }

  void pass(Duration duration) {
    for (const TimePoint end = now + duration;;) {
      deliver();
      TimePoint next = line.empty() ? end : line.front().first;
      for (Router* router : {&a.router, &b.router}) next = std::min(next, router->next_due().value_or(end));
      if (next > end || (next == end && now == end)) return;
      now = std::max(now, next);
      for (; !line.empty() && line.front().first <= now; line.pop_front()) give(a, b, line.front().second);
      a.router.tick(now);
      b.router.tick(now);
    }
  }

  TimePoint now = at(0ms);
  Answers answers;
  std::deque<std::pair<TimePoint, Frames>> line;  ///< on their way to a, with their times of arrival

 private:
  void give(TestNode& to, const TestNode& from, Frames frames) const {
    to.router.frames(now, from.self.name, from.self.incarnation, std::move(frames));
  }

  void deliver() {
    while (!a.wire.empty() || !b.wire.empty()) {
      move(a, b, now);
      for (auto wire = std::move(b.wire); !wire.empty(); wire.pop_front()) {
        Frames& frames = wire.front().second;
        const SessionHeader header = decode_session_header(frames.front().bytes).value();
        if (header.lane == SessionLane::express || header.kind == SessionKind::ack) {
          give(a, b, std::move(frames));
          continue;
        }
        const auto takes = std::chrono::microseconds(size_of(frames));  // 1 byte in 1 us
        const TimePoint free = line.empty() ? now : line.back().first;
        line.emplace_back(free + takes, std::move(frames));
      }
    }
  }
};

// 8 MiB take 8.4 s. Of those that nobody waits for, what has left travels to its end: 4 MiB, the lane's window.
BOOST_AUTO_TEST_CASE(answers_that_nobody_waits_for_do_not_delay_later_ones, *label("fault-F33")) {
  SlowPair pair;
  for (int i = 0; i < 3; ++i) pair.call_and_answer(2s, 8 * kMiB);
  pair.pass(2s);
  BOOST_TEST_REQUIRE(pair.answers.size() == 3U);
  for (const auto& answer : pair.answers) BOOST_TEST((answer.error().code == ErrorCode::timeout));
  BOOST_TEST(pair.b.answers_undone == 3U);

  pair.call_and_answer(6s, kMiB);
  pair.pass(6s);
  BOOST_TEST_REQUIRE(pair.answers.size() == 4U);
  BOOST_TEST(pair.answers.back().ok());
  pair.pass(1s);
  BOOST_TEST(pair.b.answers_taken_by["a"] == pair.b.answer_bytes["a"]);
  BOOST_TEST(pair.a.events == std::vector<std::string>{"up b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(answers_that_are_taken_back_half_sent_leave_nothing_counted_on_either_side) {
  SlowPair pair;
  for (int round = 0; round < 20; ++round) {  // 20 * 9 MiB: more than the 64 MiB granted at a time
    pair.call_and_answer(2s, 9 * kMiB);
    pair.pass(2s);
  }
  BOOST_TEST(pair.b.answers_undone == 20U);
  pair.pass(5s);
  BOOST_TEST(pair.line.empty());
  BOOST_TEST(pair.b.answers_taken_by["a"] == pair.b.answer_bytes["a"]);
  pair.call_and_answer(120s, 70 * kMiB);  // larger than any grant: it travels if it is alone
  pair.pass(120s);
  BOOST_TEST(pair.answers.back().ok());
  BOOST_TEST(pair.a.events == std::vector<std::string>{"up b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(answer_that_has_left_whole_arrives_late_although_it_is_cancelled) {
  SlowPair pair;
  pair.call_and_answer(100ms, kMiB / 2);
  pair.pass(1s);
  BOOST_TEST_REQUIRE(pair.answers.size() == 1U);
  BOOST_TEST((pair.answers[0].error().code == ErrorCode::timeout));
  BOOST_TEST(pair.a.events.back() == "late Reply from b");
  BOOST_TEST(pair.b.answers_undone == 0U);
  BOOST_TEST(pair.b.answers_taken_by["a"] == pair.b.answer_bytes["a"]);
}

BOOST_AUTO_TEST_CASE(large_answer_that_was_cancelled_while_it_was_encoded_does_not_leave) {
  SlowPair pair;
  pair.call(100ms);
  pair.pass(200ms);
  pair.answer(kMiB);
  BOOST_TEST(pair.b.answers_undone == 1U);
  BOOST_TEST(pair.b.answers_taken_by["a"] == pair.b.answer_bytes["a"]);
  pair.pass(5s);
  BOOST_TEST(pair.a.events == std::vector<std::string>{"up b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(small_answers_that_wait_for_the_window_are_taken_back) {
  Pair pair;
  Answers answers;
  constexpr std::size_t kCalls = 120;
  for (std::size_t i = 0; i < kCalls; ++i) pair.a.request(at(0ms), call_to("b", at(1s)), into(answers));
  pair.exchange(at(0ms));
  BOOST_TEST_REQUIRE(pair.b.arrived.size() == kCalls);
  for (std::size_t i = 0; i < kCalls; ++i)
    pair.b.answer(at(1ms), pair.a.life(), pair.b.arrived[i].envelope.request, reply_of(60'000));
  std::deque<std::pair<NodeName, Frames>> sent;
  pair.b.wire.swap(sent);
  BOOST_TEST(sent.size() == 69U);  // 4 MiB / (60,000 bytes and headers)
  pair.a.router.tick(at(1s));
  pair.exchange(at(1s));
  BOOST_TEST(pair.b.answers_undone == 50U);  // not the first that waits: it found none before it
  pair.b.wire.swap(sent);
  pair.exchange(at(2s));
  for (int i = 0; i < 3; ++i) {
    pair.a.router.tick(at(3s));
    pair.b.router.tick(at(3s));
    pair.exchange(at(3s));
  }
  BOOST_TEST(pair.b.answers_taken_by["a"] == pair.b.answer_bytes["a"]);
}

BOOST_AUTO_TEST_CASE(request_whose_answer_is_taken_back_while_it_waits_fails_at_once, *label("attack")) {
  SlowPair pair;
  pair.call_and_answer(60s, 9 * kMiB);
  pair.pass(1s);
  const RequestId request = pair.b.arrived.front().envelope.request;
  pair.a.notify(pair.now, "b", std::nullopt, "worker", msg::CallCancelled{request});
  pair.pass(5s);
  BOOST_TEST_REQUIRE(pair.answers.size() == 1U);
  BOOST_TEST((pair.answers[0].error().code == ErrorCode::protocol_violation));
  BOOST_TEST(pair.answers[0].error().message == "b has taken its answer back");
  BOOST_TEST((pair.answers[0].error().execution == Execution::yes));
  pair.call_and_answer(10s, kMiB);  // the session goes on
  pair.pass(10s);
  BOOST_TEST(pair.answers.back().ok());
}

BOOST_AUTO_TEST_CASE(life_that_returns_after_its_name_was_forgotten_is_told_that_it_is_dead) {
  Pair pair;
  const auto say = [&](TestNode& from, const NodeName& to) {
    from.notify(at(0ms), to, std::nullopt, "worker", msg::CallCancelled{});
  };
  for (int words = 0; words < 2; ++words) say(pair.a, "b");
  pair.exchange(at(0ms));
  pair.a.router.reach(at(10s), "b", pair.b.self.incarnation, Reach::down, 10s);
  for (std::uint64_t number = 0; number < Lives::kNamesOverMax; ++number) {
    const Peer other{"other" + std::to_string(number), {number, number}, {}};
    pair.a.router.link_up(at(10s), other);
    pair.a.router.link_down(at(10s), other.name, other.incarnation, make_error(ErrorCode::peer_down, "it has left"));
  }
  pair.a.events.clear();
  pair.a.router.link_up(at(20s), pair.b.self);
  say(pair.a, "b");  // as a member introduces itself
  say(pair.b, "a");  // acknowledges two
  Pair::move(pair.b, pair.a, at(20s));
  const std::vector<std::string> expected{
      "up b", "warn dropped bytes from b: protocol_violation: acknowledges message 2, but only 1 were sent",
      "give up b: you_are_dead node a took this node for dead: acknowledges message 2, but only 1 were sent"};
  BOOST_TEST(pair.a.events == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(life_that_breaks_the_protocol_after_its_first_words_is_given_up_without_a_verdict) {
  Pair pair;
  pair.b.notify(at(0ms), "a", std::nullopt, "worker", msg::CallCancelled{});
  pair.exchange(at(0ms));
  SessionHeader header{.kind = SessionKind::ack, .from = pair.b.self.incarnation, .to = pair.a.self.incarnation};
  header.ack = 9;
  pair.a.router.frames(at(0ms), "b", pair.b.self.incarnation, {encode(header)});
  BOOST_TEST(pair.a.events.back() == "give up b: peer_down disconnected by the peer");
}

BOOST_AUTO_TEST_CASE(notification_that_gets_no_memory_is_delivered_or_told_as_lost) {
  std::size_t lost = 0;
  for (const std::size_t elements : {std::size_t{1}, kMiB}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      Pair pair;
      pair.b.notify(at(0ms), "a", std::nullopt, "context/b.1",
                    msg::BackwardGradients{{"b", 2, 1}, {"b", 2, 1}, {"a", 1, 1}, {ones({std::int64_t(elements)})}});
      bool is_over = false;  // a router without memory ends its node
      {
        const testing::RefusedAllocation refused(n);
        try {
          pair.exchange(at(0ms));
        } catch (const std::bad_alloc&) {
          is_over = true;
        }
        is_refused = refused.happened();
      }
      for (int second = 1; !is_over && second < 4; ++second) {
        pair.b.router.tick(at(std::chrono::seconds(second)));
        pair.exchange(at(std::chrono::seconds(second)));
      }
      const bool is_told =
          std::ranges::count(pair.a.events, "lost a BackwardGradients of b to a/context/b.1: resource_exhausted") == 1;
      const bool is_given_up =
          std::ranges::any_of(pair.a.events, [](const std::string& event) { return event.starts_with("give up b"); });
      BOOST_TEST((is_over || is_told || is_given_up || pair.a.arrived.size() == 1U), "allocation " << n);
      lost += is_told ? 1 : 0;
    }
  }
  BOOST_TEST(lost >= 4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
