#include "actors/sessions/failure_detector.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(failure_detector_rules)

using namespace std::chrono_literals;
using boost::unit_test::label;
using Event = FailureDetector::Event;
using Said = FailureDetector::Said;

constexpr Incarnation kFirst{.high = 1, .low = 1};
constexpr Incarnation kSecond{.high = 2, .low = 2};
constexpr Duration kLease = 10s;

TimePoint at(Duration since_start) { return TimePoint{1h} + since_start; }

/// Ticks as requested from `from` to `to`, each `late` after the requested time. Returns every event.
std::vector<Event> run(FailureDetector& detector, Duration from, Duration to, Duration late = 0ms) {
  std::vector<Event> events;
  TimePoint now = at(from);
  while (true) {
    const FailureDetector::Verdicts verdicts = detector.tick(now);
    events.insert(events.end(), verdicts.events.begin(), verdicts.events.end());
    if (!verdicts.next || *verdicts.next + late > at(to)) return events;
    now = *verdicts.next + late;
  }
}

/// Watches from 0 ms a peer that promises 100 ms. The first heartbeat to it was sent.
void watch(FailureDetector& detector, const NodeName& peer, Incarnation incarnation = kFirst, Duration lease = kLease) {
  detector.watch(peer, incarnation, lease, at(0ms));
  BOOST_TEST(!detector.heard(peer, incarnation, {100ms, 0ms}, at(0ms)).has_value());
  BOOST_TEST_REQUIRE(detector.tick(at(0ms)).heartbeats.size() == 1U);
}

BOOST_AUTO_TEST_CASE(silent_peer_is_unreachable_after_300_ms_and_down_after_its_lease, *label("fault-F13")) {
  FailureDetector detector;
  watch(detector, "ps0");
  const std::vector<Event> events = run(detector, 0ms, 20s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 300ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 10s}));
  BOOST_TEST(detector.watched() == 0U);
}

BOOST_AUTO_TEST_CASE(pair_has_the_longer_lease_of_both) {
  for (const auto& [ours, theirs] : {std::pair{3s, 7s}, std::pair{7s, 3s}}) {
    FailureDetector detector({.lease = ours});
    watch(detector, "ps0", kFirst, theirs);
    const std::vector<Event> events = run(detector, 0ms, 20s);
    BOOST_REQUIRE_EQUAL(events.size(), 2U);
    BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 7s}));
  }
}

BOOST_AUTO_TEST_CASE(nobody_is_judged_where_a_lease_is_endless) {
  for (const bool ours : {false, true}) {
    FailureDetector detector({.lease = ours ? kEndlessLease : kLease});
    watch(detector, "ps0", kFirst, ours ? kLease : kEndlessLease);
    BOOST_TEST(run(detector, 0ms, 1h).empty());
    BOOST_TEST(detector.watched() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(lease_that_is_too_short_for_the_intervals_is_stretched) {
  FailureDetector detector({.lease = 1s});
  watch(detector, "ps0", kFirst, 1s);
  BOOST_TEST(!detector.heard("ps0", kFirst, {1s, 0ms}, at(0ms)).has_value());
  const std::vector<Event> events = run(detector, 0ms, 20s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 2200ms}));  // 2 * 1000 + 200
}

BOOST_AUTO_TEST_CASE(peer_heard_in_time_causes_no_event) {
  FailureDetector detector;
  watch(detector, "ps0");
  for (Duration t = 0ms; t < 5s; t += 250ms) {
    BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 0ms}, at(t)).has_value());
    BOOST_TEST(run(detector, t, t + 249ms).empty());
  }
}

BOOST_AUTO_TEST_CASE(unreachable_peer_that_is_heard_is_reachable_again_once, *label("fault-F08")) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 9900ms).size() == 1U);
  const auto event = detector.heard("ps0", kFirst, {100ms, 0ms}, at(9900ms));
  BOOST_REQUIRE(event.has_value());
  BOOST_TEST((*event == Event{"ps0", kFirst, Reach::reachable, 9900ms}));
  BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 0ms}, at(9901ms)).has_value());
  BOOST_TEST(run(detector, 9901ms, 10100ms).empty());
}

BOOST_AUTO_TEST_CASE(peer_that_comes_and_goes_causes_one_event_for_each_real_change, *label("fault-F10")) {
  FailureDetector detector;
  watch(detector, "ps0");
  std::vector<Reach> changes;
  Duration now = 0ms;
  const auto silent_until_heard = [&](Duration silence) {
    for (const Event& event : run(detector, now, now + silence - 1ms)) changes.push_back(event.change);
    now += silence;
    for (int i = 0; i < 3; ++i) {  // once more after it was noticed
      if (const auto event = detector.heard("ps0", kFirst, {100ms, 0ms}, at(now + i * 1ms)))
        changes.push_back(event->change);
    }
    now += 2ms;
  };
  for (int i = 0; i < 20; ++i) silent_until_heard(250ms);  // shorter than the 300 ms that make it unreachable
  BOOST_TEST(changes.empty());
  for (int i = 0; i < 20; ++i) silent_until_heard(400ms);
  BOOST_TEST_REQUIRE(changes.size() == 40U);
  for (std::size_t i = 0; i < changes.size(); ++i)
    BOOST_TEST((changes[i] == (i % 2 == 0 ? Reach::unreachable : Reach::reachable)));
}

BOOST_AUTO_TEST_CASE(peer_that_does_not_hear_us_is_unreachable_although_it_is_heard, *label("fault-F07")) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(
      (detector.heard("ps0", kFirst, {100ms, 350ms}, at(100ms)) == Event{"ps0", kFirst, Reach::unreachable, 350ms}));
  BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 450ms}, at(200ms)).has_value());
  BOOST_TEST(run(detector, 200ms, 299ms).empty());
  BOOST_TEST((detector.heard("ps0", kFirst, {100ms, 0ms}, at(300ms)) == Event{"ps0", kFirst, Reach::reachable, 450ms}));
}

BOOST_AUTO_TEST_CASE(heartbeat_says_for_how_long_nothing_was_heard_once_that_is_too_long, *label("fault-F07")) {
  FailureDetector detector;
  watch(detector, "ps0");
  std::vector<Duration> deaf;
  for (Duration t = 100ms; t <= 500ms; t += 100ms) deaf.push_back(detector.tick(at(t)).heartbeats.at(0).said.deaf);
  BOOST_TEST((deaf == std::vector<Duration>{0ms, 0ms, 300ms, 400ms, 500ms}));
}

BOOST_AUTO_TEST_CASE(another_incarnation_does_not_count_as_heard, *label("fault-F15")) {
  FailureDetector detector;
  watch(detector, "ps0", kSecond);
  for (Duration t = 0ms; t < 300ms; t += 50ms) {
    BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 0ms}, at(t)).has_value());
  }
  BOOST_TEST(run(detector, 0ms, 310ms).size() == 1U);
}

BOOST_AUTO_TEST_CASE(peer_is_judged_by_what_it_promised_last) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(!detector.heard("ps0", kFirst, {500ms, 0ms}, at(0ms)).has_value());
  BOOST_TEST(!detector.heard("ps0", kSecond, {100ms, 0ms}, at(0ms)).has_value());                        // another life
  BOOST_TEST((run(detector, 0ms, 2s) == std::vector{Event{"ps0", kFirst, Reach::unreachable, 700ms}}));  // 500 + 200
}

BOOST_AUTO_TEST_CASE(peer_that_promised_nothing_has_the_longest_interval) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, kLease, at(0ms));
  BOOST_TEST((run(detector, 0ms, 5s) == std::vector{Event{"ps0", kFirst, Reach::unreachable, 1200ms}}));  // 1000 + 200
}

BOOST_AUTO_TEST_CASE(promise_beyond_half_the_lease_counts_as_that) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(!detector.heard("ps0", kFirst, {24h, 0ms}, at(0ms)).has_value());
  const std::vector<Event> events = run(detector, 0ms, 20s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 5200ms}));  // 5000 + 200
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 10200ms}));        // 2 * 5000 + 200
}

BOOST_AUTO_TEST_CASE(heartbeat_is_due_at_once_and_every_100_ms) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, kLease, at(0ms));
  const std::vector<FailureDetector::Heartbeat> one{{"ps0", {100ms, 0ms}}};
  BOOST_TEST((detector.tick(at(0ms)).heartbeats == one));
  BOOST_TEST(detector.tick(at(99ms)).heartbeats.empty());
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == one));
}

BOOST_AUTO_TEST_CASE(heartbeats_that_are_nearly_due_go_with_one_that_is) {
  FailureDetector detector;
  for (const auto& [peer, since] : {std::pair{"ps0", 0ms}, std::pair{"ps1", 25ms}, std::pair{"ps2", 26ms}}) {
    detector.watch(peer, kFirst, kLease, at(since));
    BOOST_TEST(detector.tick(at(since)).heartbeats.size() == 1U);
  }
  BOOST_TEST((detector.tick(at(100ms)).heartbeats ==
              std::vector<FailureDetector::Heartbeat>{{"ps0", {100ms, 0ms}}, {"ps1", {100ms, 0ms}}}));
}

/// Returns the heartbeats that a node with `peers` peers, all of them heard constantly, sends in ten seconds.
std::size_t heartbeats_in_ten_seconds(int peers) {
  FailureDetector detector;
  for (int i = 0; i < peers; ++i) detector.watch(fmt::format("n{}", i), kFirst, kLease, at(0ms));
  std::size_t sent = detector.tick(at(0ms)).heartbeats.size();
  for (Duration t = 10ms; t < 10s; t += 10ms) {
    for (int i = 0; i < peers; ++i) {
      BOOST_TEST_REQUIRE(!detector.heard(fmt::format("n{}", i), kFirst, {100ms, 0ms}, at(t)).has_value());
    }
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
  for (int i = 1; i < 50; ++i) detector.watch(fmt::format("ps{}", i), kFirst, kLease, at(50ms));
  BOOST_TEST(detector.tick(at(50ms)).heartbeats.size() == 49U);
  const std::vector<FailureDetector::Heartbeat> longer{{"ps0", {500ms, 0ms}}};
  BOOST_TEST((detector.tick(at(100ms)).heartbeats == longer));
}

BOOST_AUTO_TEST_CASE(own_stall_of_a_minute_blames_nobody, *label("fault-F17")) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  BOOST_TEST(detector.tick(at(60200ms)).events.empty());
  BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 0ms}, at(60210ms)).has_value());
  BOOST_TEST(run(detector, 60210ms, 60300ms).empty());
}

BOOST_AUTO_TEST_CASE(silence_before_and_after_an_own_stall_adds_up) {
  FailureDetector detector;
  watch(detector, "ps0");
  BOOST_TEST(run(detector, 0ms, 200ms).empty());
  // Requested for 300 ms, arrived at 5300 ms: the silence is 300 ms there, and is judged at the next check, 20 ms
  // later.
  const std::vector<Event> events = run(detector, 5300ms, 20s);
  BOOST_REQUIRE_EQUAL(events.size(), 2U);
  BOOST_TEST((events[0] == Event{"ps0", kFirst, Reach::unreachable, 320ms}));
  BOOST_TEST((events[1] == Event{"ps0", kFirst, Reach::down, 10s}));
}

BOOST_AUTO_TEST_CASE(ticks_that_are_always_late_judge_all_the_same, *label("fault-F17")) {
  for (const Duration late : std::vector<Duration>{21ms, 50ms, 100ms, 500ms}) {
    FailureDetector detector;
    watch(detector, "ps0");
    const std::vector<Event> events = run(detector, 0ms, 120s, late);
    BOOST_REQUIRE_EQUAL(events.size(), 2U);
    BOOST_TEST((events[0].change == Reach::unreachable));
    BOOST_TEST((events[1].change == Reach::down));
    BOOST_TEST((events[1].silence >= 10s && events[1].silence <= 10100ms));
  }
}

BOOST_AUTO_TEST_CASE(ticks_that_are_always_late_condemn_nobody_who_is_heard, *label("fault-F17")) {
  for (const Duration late : std::vector<Duration>{21ms, 250ms, 5s, 30s}) {
    FailureDetector detector;
    watch(detector, "ps0");
    TimePoint now = at(0ms);
    for (int tick = 0; tick < 200; ++tick) {
      const FailureDetector::Verdicts verdicts = detector.tick(now);
      BOOST_TEST(verdicts.events.empty());
      now = verdicts.next.value() + late;
      BOOST_TEST(!detector.heard("ps0", kFirst, {100ms, 0ms}, now).has_value());  // arrived messages are read first
    }
  }
}

BOOST_AUTO_TEST_CASE(only_the_silent_peer_is_blamed) {
  FailureDetector detector;
  watch(detector, "ps0");
  watch(detector, "ps1");
  std::vector<Event> events;
  for (Duration t = 0ms; t < 12s; t += 100ms) {
    BOOST_TEST(!detector.heard("ps1", kFirst, {100ms, 0ms}, at(t)).has_value());
    for (const Event& event : run(detector, t, t + 99ms)) events.push_back(event);
  }
  BOOST_TEST(events.size() == 2U);
  for (const Event& event : events) BOOST_TEST(event.peer == "ps0");
  BOOST_TEST(detector.watched() == 1U);
}

BOOST_AUTO_TEST_CASE(forgotten_peer_needs_no_tick) {
  FailureDetector detector;
  detector.watch("ps0", kFirst, kLease, at(0ms));
  detector.forget("ps0");
  const FailureDetector::Verdicts verdicts = detector.tick(at(10s));
  BOOST_TEST(verdicts.events.empty());
  BOOST_TEST(!verdicts.next.has_value());
}

/// Two detectors over a wire that loses, delays and is sometimes cut, on machines that stall at random; time is
/// simulated. Arrived messages wait until their receiver runs.
struct Explored {
  explicit Explored(unsigned seed) : random(seed) {}

  struct Side {
    FailureDetector detector{{.peers_min = 0}};
    std::deque<std::pair<TimePoint, Said>> coming;  // pending arrivals, in order
    TimePoint wake;
    std::vector<Event> events;
  };

  Duration up_to(Duration most) {
    return Duration{std::uniform_int_distribution<Duration::rep>(0, most.count())(random)};
  }
  bool chance(double of) { return std::bernoulli_distribution(of)(random); }

  /// Runs both until `end`. `cut(i)`: whether messages of side i are lost. `stall`: the maximum delay of a tick.
  template <class Cut>
  void run(TimePoint end, Duration stall, Cut cut) {
    while (true) {
      const std::size_t i = sides[0].wake <= sides[1].wake ? 0 : 1;
      Side& side = sides[i];
      const TimePoint now = side.wake;
      if (now > end) return;
      while (!side.coming.empty() && side.coming.front().first <= now) {
        if (auto event = side.detector.heard("peer", kFirst, side.coming.front().second, now))
          side.events.push_back(*event);
        side.coming.pop_front();
      }
      FailureDetector::Verdicts verdicts = side.detector.tick(now);
      for (const auto& heartbeat : verdicts.heartbeats) {
        if (cut(i) || chance(0.01)) continue;
        auto& coming = sides[1 - i].coming;
        const TimePoint arrives = now + 1ms + up_to(5ms);
        coming.emplace_back(coming.empty() ? arrives : std::max(arrives, coming.back().first), heartbeat.said);
      }
      side.events.insert(side.events.end(), verdicts.events.begin(), verdicts.events.end());
      const bool stalls = stall > 0ms && chance(0.05);
      side.wake = verdicts.next ? *verdicts.next + up_to(2ms) + (stalls ? up_to(stall) : 0ms) : TimePoint::max();
    }
  }

  void begin() {
    for (Side& side : sides) {
      side.detector.watch("peer", kFirst, kLease, at(0ms));
      side.wake = at(0ms);
    }
  }

  std::mt19937 random;
  std::array<Side, 2> sides;
};

std::size_t count(const std::vector<Event>& events, Reach change) {
  return static_cast<std::size_t>(std::ranges::count(events, change, &Event::change));
}

BOOST_AUTO_TEST_CASE(machines_that_stall_for_up_to_four_seconds_never_lose_each_other, *label("fault-F17")) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Explored world(seed);
      world.begin();
      world.run(at(10min), 4s, [](std::size_t) { return false; });
      for (const Explored::Side& side : world.sides) BOOST_TEST(count(side.events, Reach::down) == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(both_ends_of_a_one_way_cut_agree_that_they_are_unreachable_and_then_reachable,
                     *label("fault-F07")) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Explored world(seed);
      world.begin();
      world.run(at(5s), 0ms, [](std::size_t) { return false; });
      for (Explored::Side& side : world.sides) side.events.clear();
      world.run(at(8s), 0ms, [](std::size_t from) { return from == 0; });
      for (const Explored::Side& side : world.sides) {
        BOOST_TEST_REQUIRE(!side.events.empty());
        BOOST_TEST((side.events.back().change == Reach::unreachable));
      }
      world.run(at(10s), 0ms, [](std::size_t) { return false; });
      for (const Explored::Side& side : world.sides) {
        BOOST_TEST((side.events.back().change == Reach::reachable));
        BOOST_TEST(count(side.events, Reach::down) == 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(silence_that_lasts_is_down_however_the_judge_stalls) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Explored world(seed);
      world.begin();
      world.run(at(5s), 0ms, [](std::size_t) { return false; });
      world.run(at(3min), 2s, [](std::size_t) { return true; });
      for (const Explored::Side& side : world.sides) BOOST_TEST(count(side.events, Reach::down) == 1U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
