#include "actors/failure_detector.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Event = FailureDetector::Event;

constexpr Incarnation kFirst{.high = 1, .low = 1};
constexpr Incarnation kSecond{.high = 2, .low = 2};

TimePoint at(Duration since_start) { return TimePoint{1h} + since_start; }

/// Ticks as asked from `from` to `to` and returns every event.
std::vector<Event> run(FailureDetector& detector, Duration from, Duration to) {
  std::vector<Event> events;
  TimePoint now = at(from);
  while (true) {
    const FailureDetector::Verdicts verdicts = detector.tick(now);
    events.insert(events.end(), verdicts.events.begin(), verdicts.events.end());
    if (!verdicts.next || *verdicts.next > at(to)) return events;
    now = *verdicts.next;
  }
}

/// From 0 ms on, with a peer that promises 100 ms and to whom the first heartbeat was sent.
void watch(FailureDetector& detector, const NodeName& peer, Incarnation incarnation = kFirst) {
  detector.watch(peer, incarnation, at(0ms));
  detector.promised(peer, incarnation, 100ms);
  BOOST_TEST_REQUIRE(detector.tick(at(0ms)).heartbeats.size() == 1U);
}

BOOST_AUTO_TEST_SUITE(failure_detector_rules)

BOOST_AUTO_TEST_CASE(silent_peer_is_unreachable_after_300_ms_and_down_after_800_ms, *boost::unit_test::label("fault-F13")) {
  FailureDetector detector;
  watch(detector, "ps0");
  const std::vector<Event> events = run(detector, 0ms, 2s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 300ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 800ms}));
  BOOST_TEST(detector.watched() == 0U);
}

BOOST_AUTO_TEST_CASE(peer_heard_in_time_causes_no_event) {
  FailureDetector detector;
  watch(detector, "ps0");
  for (Duration t = 0ms; t < 5s; t += 250ms) {
    BOOST_TEST(!detector.heard("ps0", kFirst, at(t)).has_value());
    BOOST_TEST(run(detector, t, t + 249ms).empty());
  }
}

BOOST_AUTO_TEST_CASE(unreachable_peer_that_is_heard_is_reachable_again_once) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 500ms).size() == 1U);
  const auto event = detector.heard("ps0", kFirst, at(510ms));
  BOOST_REQUIRE(event.has_value());
  BOOST_TEST((*event == Event{"ps0", kFirst, Reach::reachable, 510ms}));
  BOOST_TEST(!detector.heard("ps0", kFirst, at(511ms)).has_value());
  BOOST_TEST(run(detector, 511ms, 800ms).empty());
}

BOOST_AUTO_TEST_CASE(another_incarnation_does_not_count_as_heard, *boost::unit_test::label("fault-F15")) {
  FailureDetector detector;
  watch(detector, "ps0", kSecond);
  for (Duration t = 0ms; t < 300ms; t += 50ms) BOOST_TEST(!detector.heard("ps0", kFirst, at(t)).has_value());
  BOOST_TEST(run(detector, 0ms, 310ms).size() == 1U);
}

BOOST_AUTO_TEST_CASE(peer_is_judged_by_what_it_promised_last) {
  FailureDetector detector;
  watch(detector, "ps0");
  detector.promised("ps0", kFirst, 500ms);
  detector.promised("ps0", kSecond, 100ms);  // another life
  const std::vector<Event> events = run(detector, 0ms, 2s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 700ms}));  // 500 + 200
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 1600ms}));        // 2 * 500 + 600
}

BOOST_AUTO_TEST_CASE(peer_that_promised_nothing_or_too_much_has_the_longest_interval) {
  for (const bool promises : {false, true}) {
    FailureDetector detector;
    detector.watch("ps0", kFirst, at(0ms));
    if (promises) detector.promised("ps0", kFirst, 24h);
    const std::vector<Event> events = run(detector, 0ms, 5s);
    BOOST_REQUIRE_EQUAL(events.size(), 2U);
    BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 1200ms}));  // 1000 + 200
    BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 2600ms}));         // 2 * 1000 + 600
  }
}

BOOST_AUTO_TEST_CASE(heartbeat_is_due_at_once_and_every_100_ms_of_not_sending) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  const std::vector<FailureDetector::Heartbeat> one{{"ps0", 100ms}};
  BOOST_TEST((detector.tick(at(0ms)).heartbeats == one));
  BOOST_TEST(detector.tick(at(99ms)).heartbeats.empty());
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == one));
  detector.sent("ps0", at(150ms));
  BOOST_TEST(detector.tick(at(200ms)).heartbeats.empty());
  BOOST_TEST((detector.tick(at(250ms)).heartbeats == one));
}

BOOST_AUTO_TEST_CASE(heartbeats_that_are_nearly_due_go_with_one_that_is) {
  FailureDetector detector;
  watch(detector, "ps0");
  watch(detector, "ps1");
  watch(detector, "ps2");
  detector.sent("ps1", at(25ms));
  detector.sent("ps2", at(26ms));
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == std::vector<FailureDetector::Heartbeat>{{"ps0", 100ms}, {"ps1", 100ms}}));
}

/// Heartbeats that a node with so many peers, who are all heard all the time, sends in ten seconds.
std::size_t heartbeats_in_ten_seconds(int peers) {
  FailureDetector detector;
  for (int i = 0; i < peers; ++i) detector.watch("n" + std::to_string(i), kFirst, at(0ms));
  std::size_t sent = detector.tick(at(0ms)).heartbeats.size();
  for (Duration t = 10ms; t < 10s; t += 10ms) {
    for (int i = 0; i < peers; ++i) BOOST_TEST_REQUIRE(!detector.heard("n" + std::to_string(i), kFirst, at(t)).has_value());
    sent += detector.tick(at(t)).heartbeats.size();
  }
  return sent;
}

BOOST_AUTO_TEST_CASE(node_sends_a_hundred_heartbeats_per_second_at_most_up_to_a_hundred_peers) {
  BOOST_TEST(heartbeats_in_ten_seconds(1) == 100U);     // every 100 ms
  BOOST_TEST(heartbeats_in_ten_seconds(10) == 1000U);   // every 100 ms
  BOOST_TEST(heartbeats_in_ten_seconds(50) == 1000U);   // every 500 ms
  BOOST_TEST(heartbeats_in_ten_seconds(100) == 1000U);  // every second
  BOOST_TEST(heartbeats_in_ten_seconds(200) == 2000U);  // every second
}

BOOST_AUTO_TEST_CASE(promise_that_was_made_is_kept_when_peers_are_added) {
  FailureDetector detector;
  watch(detector, "ps0");
  for (int i = 1; i < 50; ++i) detector.watch("ps" + std::to_string(i), kFirst, at(50ms));
  BOOST_TEST(detector.tick(at(50ms)).heartbeats.size() == 49U);
  const std::vector<FailureDetector::Heartbeat> longer{{"ps0", 500ms}};
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == longer));
}

BOOST_AUTO_TEST_CASE(own_stall_of_five_seconds_blames_nobody, *boost::unit_test::label("fault-F17")) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  BOOST_TEST(detector.tick(at(5200ms)).events.empty());
  BOOST_TEST(!detector.heard("ps0", kFirst, at(5210ms)).has_value());
  BOOST_TEST(run(detector, 5210ms, 5500ms).empty());
}

BOOST_AUTO_TEST_CASE(silence_before_and_after_an_own_stall_adds_up) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  // Asked for 300 ms, came at 5300 ms: a stall of 5000 ms, so the silence is 300 ms there and 400 ms one tick later.
  const std::vector<Event> events = run(detector, 5300ms, 6s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 400ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 800ms}));
}

BOOST_AUTO_TEST_CASE(only_the_silent_peer_is_blamed) {
  FailureDetector detector;
  watch(detector, "ps0");
  watch(detector, "ps1");
  std::vector<Event> events;
  for (Duration t = 0ms; t < 2s; t += 100ms) {
    BOOST_TEST(!detector.heard("ps1", kFirst, at(t)).has_value());
    for (const Event& event : run(detector, t, t + 99ms)) events.push_back(event);
  }
  BOOST_TEST(events.size() == 2U);
  for (const Event& event : events) BOOST_TEST(event.peer == "ps0");
  BOOST_TEST(detector.watched() == 1U);
}

BOOST_AUTO_TEST_CASE(forgotten_peer_needs_no_tick) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  detector.forget("ps0");
  const FailureDetector::Verdicts verdicts = detector.tick(at(10s));
  BOOST_TEST(verdicts.events.empty());
  BOOST_TEST(!verdicts.next.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
