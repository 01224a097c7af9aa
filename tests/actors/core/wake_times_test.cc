#include "actors/core/wake_times.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "messages/membership.h"
#include "tests/actors/bare_peer.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(wake_times)

namespace {

using namespace std::chrono_literals;

/// A clock, and a part that asks it to be woken when work is due next.
struct Sleeper {
  void settle(TimePoint due) {
    if (!wakes.misses(due)) return;
    const TimePoint at = wakes.time_for(due, now);
    ++timers[at];
    ++requests;
    wakes.requested(at);
  }

  /// Passes the time to the next timer. Returns whether the part does its work then.
  bool work_at_next() {
    now = timers.begin()->first;
    bool works = false;
    for (int left = timers.begin()->second; left > 0; --left) works |= wakes.came(now);
    timers.erase(timers.begin());
    return works;
  }

  WakeTimes wakes;
  TimePoint now{};
  std::map<TimePoint, int> timers;
  int requests = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_due_in_a_week_is_asked_for_once_whatever_comes_before_it) {
  Sleeper sleeper;
  const TimePoint in_a_week = TimePoint{} + 168h;
  sleeper.settle(in_a_week);
  for (int exchange = 0; exchange < 1'000; ++exchange) {
    sleeper.settle(sleeper.now + 20ms);
    BOOST_TEST(sleeper.work_at_next());
    sleeper.settle(in_a_week);
  }
  BOOST_TEST(sleeper.timers.size() == 1U);
  BOOST_TEST(sleeper.requests == 1'001);
  BOOST_TEST(sleeper.work_at_next());
  BOOST_TEST((sleeper.now == in_a_week));
}

BOOST_AUTO_TEST_CASE(one_that_comes_with_an_earlier_one_is_not_followed_twice) {
  WakeTimes wakes;
  for (const TimePoint due : {TimePoint(2s), TimePoint(1s)}) {
    BOOST_TEST_REQUIRE(wakes.misses(due));
    wakes.requested(due);
  }
  BOOST_TEST(!wakes.misses(TimePoint(1s)));
  BOOST_TEST(!wakes.misses(TimePoint(3s)));
  BOOST_TEST(!wakes.came(TimePoint(500ms)));
  BOOST_TEST(wakes.came(TimePoint(2s)));  // late, when the time of the other is up, too
  BOOST_TEST(!wakes.came(TimePoint(2s)));
  BOOST_TEST(wakes.misses(TimePoint(3s)));
}

BOOST_AUTO_TEST_CASE(wake_ups_stay_few_however_many_are_each_earlier_than_all_before) {
  Sleeper sleeper;
  sleeper.now = TimePoint{} + 1h;
  const auto fall = [&](Duration from, Duration step) {
    for (int i = 0; i < 100'000; ++i) sleeper.settle(sleeper.now + from - i * step);
  };
  fall(8'000h, 250s);  // to 1'056 h
  fall(1'000h, 1us);
  fall(100s, 1ms);
  BOOST_TEST(sleeper.timers.size() > WakeTimes::kExactMax);
  BOOST_TEST(sleeper.timers.size() < 600U);  // 32 doublings make a year of a millisecond
  while (sleeper.timers.size() > WakeTimes::kExactMax) BOOST_TEST_REQUIRE(sleeper.work_at_next());
}

BOOST_AUTO_TEST_CASE(who_is_woken_early_is_woken_again_in_time) {
  for (const Duration after : std::vector<Duration>{1us, 999us, 2ms, 1s, 1h, 8'000h}) {
    Sleeper sleeper;
    sleeper.now = TimePoint{} + 1h + 1ns;
    for (int i = 0; i < 100; ++i) sleeper.settle(sleeper.now + 16'000h - i * 1h);
    const TimePoint due = sleeper.now + after;
    int woken = 0;
    for (sleeper.settle(due); sleeper.now < due; sleeper.settle(due)) {
      BOOST_TEST_REQUIRE(sleeper.work_at_next());
      BOOST_TEST_REQUIRE((sleeper.now <= due));
      ++woken;
    }
    BOOST_TEST(woken <= 12);  // each time less than a sixteenth of the way is left, or a millisecond
  }
}

BOOST_AUTO_TEST_CASE(timers_stay_few_while_a_peer_enters_with_ever_shorter_limits_and_leaves) {
  testing::AmongBarePeers world(0);
  const auto other = world.peer("p1");
  std::chrono::microseconds limit = 8'000h;
  for (std::uint64_t number = 1; number <= 100'000; ++number) {
    const BarrierEntryId id{"p1", 1, number};
    other->say("m", "membership", msg::BarrierEntered{id, "barrier", {"m", "p1"}, {}, false, --limit, {}});
    other->say("m", "membership", msg::BarrierLeft{id});
  }
  BOOST_TEST(world.clock->timers() < 1'000U);
}

BOOST_AUTO_TEST_CASE(timers_stay_few_while_an_entry_at_a_barrier_may_wait_for_hours) {
  testing::AmongBarePeers world(0);
  const auto other = world.peer("p1");
  std::uint64_t entries = 0;
  const auto enter = [&](std::chrono::microseconds limit) {
    const BarrierEntryId id{"p1", 1, ++entries};
    return other->ask("m", "membership", msg::BarrierEntered{id, "barrier", {"m", "p1"}, {}, false, limit, {}});
  };
  const auto patient = enter(5h);
  world.clock->advance(1s);
  const std::size_t timers = world.clock->timers();
  for (int entry = 0; entry < 1'000; ++entry) {
    const auto hasty = enter(10ms);
    world.clock->advance(1s);
    BOOST_REQUIRE(hasty->has_value());
    BOOST_REQUIRE(((*hasty)->error().code == ErrorCode::timeout));
  }
  BOOST_TEST(world.clock->timers() == timers);
  BOOST_TEST(!patient->has_value());
  world.clock->advance(5h);
  BOOST_TEST(patient->has_value());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
