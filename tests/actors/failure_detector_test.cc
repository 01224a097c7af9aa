#include "actors/failure_detector.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Change = FailureDetector::Change;
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

BOOST_AUTO_TEST_SUITE(failure_detector_rules)

BOOST_AUTO_TEST_CASE(silent_peer_is_unreachable_after_300_ms_and_down_after_800_ms, *boost::unit_test::label("fault-F13")) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  const std::vector<Event> events = run(detector, 0ms, 2s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Change::unreachable, 300ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Change::down, 800ms}));
  BOOST_TEST(detector.watched() == 0U);
}

BOOST_AUTO_TEST_CASE(peer_heard_in_time_causes_no_event) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  for (Duration t = 0ms; t < 5s; t += 250ms) {
    BOOST_TEST(!detector.heard("ps0", kFirst, at(t)).has_value());
    BOOST_TEST(run(detector, t, t + 249ms).empty());
  }
}

BOOST_AUTO_TEST_CASE(unreachable_peer_that_is_heard_is_reachable_again_once) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  BOOST_TEST(run(detector, 0ms, 500ms).size() == 1U);
  const auto event = detector.heard("ps0", kFirst, at(510ms));
  BOOST_REQUIRE(event.has_value());
  BOOST_TEST((*event == Event{"ps0", kFirst, Change::reachable, 510ms}));
  BOOST_TEST(!detector.heard("ps0", kFirst, at(511ms)).has_value());
  BOOST_TEST(run(detector, 511ms, 800ms).empty());
}

BOOST_AUTO_TEST_CASE(another_incarnation_does_not_count_as_heard, *boost::unit_test::label("fault-F15")) {
  FailureDetector detector;
  detector.watch("ps0", kSecond, at(0ms));
  for (Duration t = 0ms; t < 300ms; t += 50ms) BOOST_TEST(!detector.heard("ps0", kFirst, at(t)).has_value());
  BOOST_TEST(run(detector, 0ms, 310ms).size() == 1U);
}

BOOST_AUTO_TEST_CASE(heartbeat_is_due_every_100_ms_of_not_sending) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  BOOST_TEST(detector.tick(at(99ms)).heartbeats.empty());
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == std::vector<NodeName>{"ps0"}));
  detector.sent("ps0", at(150ms));
  BOOST_TEST(detector.tick(at(200ms)).heartbeats.empty());
  BOOST_TEST(detector.tick(at(250ms)).heartbeats.size() == 1U);
}

BOOST_AUTO_TEST_CASE(own_stall_of_five_seconds_blames_nobody, *boost::unit_test::label("fault-F17")) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  BOOST_TEST(detector.tick(at(5200ms)).events.empty());
  BOOST_TEST(!detector.heard("ps0", kFirst, at(5210ms)).has_value());
  BOOST_TEST(run(detector, 5210ms, 5500ms).empty());
}

BOOST_AUTO_TEST_CASE(silence_before_and_after_an_own_stall_adds_up) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  // Asked for 300 ms, came at 5300 ms: a stall of 5000 ms, so the silence is 300 ms there and 400 ms one tick later.
  const std::vector<Event> events = run(detector, 5300ms, 6s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Change::unreachable, 400ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Change::down, 800ms}));
}

BOOST_AUTO_TEST_CASE(only_the_silent_peer_is_blamed) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, at(0ms));
  detector.watch("ps1", kFirst, at(0ms));
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
