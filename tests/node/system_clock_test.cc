#include "node/system_clock.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(system_clock)

using namespace std::chrono_literals;

/// Waits for a timer that must fire.
void wait(std::future<void>& done) { BOOST_REQUIRE((done.wait_for(10s) == std::future_status::ready)); }

BOOST_AUTO_TEST_CASE(action_runs_at_its_time_and_not_before) {
  SystemClock clock;
  const TimePoint due = clock.now() + 20ms;
  std::promise<TimePoint> ran;
  clock.at(due, [&] { ran.set_value(clock.now()); });
  auto future = ran.get_future();
  BOOST_REQUIRE((future.wait_for(10s) == std::future_status::ready));
  BOOST_TEST((future.get() >= due));
}

BOOST_AUTO_TEST_CASE(actions_run_in_order_of_due_time_and_then_of_setting) {
  SystemClock clock;
  std::vector<int> order;  // written by the clock's thread only
  std::promise<void> last;
  const TimePoint start = clock.now() + 20ms;
  clock.at(start + 2ms, [&] { order.push_back(3); });
  clock.at(start + 3ms, [&] { last.set_value(); });
  clock.at(start, [&] { order.push_back(1); });
  clock.at(start, [&] { order.push_back(2); });
  auto done = last.get_future();
  wait(done);
  BOOST_TEST((order == std::vector{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(cancelled_action_never_runs_and_is_destroyed_at_once) {
  SystemClock clock;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = held;
  std::atomic<bool> ran = false;
  const TimerId timer = clock.at(clock.now() + 20ms, [&ran, held = std::move(held)] { ran = true; });
  clock.cancel(timer);
  BOOST_TEST(watch.expired());
  std::promise<void> later;
  clock.at(clock.now() + 40ms, [&] { later.set_value(); });
  auto done = later.get_future();
  wait(done);
  BOOST_TEST(!ran);
  clock.cancel(timer);  // cancelling again, or after the timer has fired, has no effect
}

BOOST_AUTO_TEST_CASE(cancel_waits_for_the_action_that_is_running) {
  SystemClock clock;
  std::promise<void> started;
  std::promise<void> go_on;
  std::atomic<bool> finished = false;
  const TimerId timer = clock.at(clock.now(), [&] {
    started.set_value();
    go_on.get_future().wait();
    finished = true;
  });
  auto running = started.get_future();
  wait(running);
  auto cancelling = std::async(std::launch::async, [&] {
    clock.cancel(timer);
    return finished.load();
  });
  BOOST_TEST((cancelling.wait_for(20ms) == std::future_status::timeout));
  go_on.set_value();
  BOOST_TEST(cancelling.get());
}

BOOST_AUTO_TEST_CASE(action_may_set_and_cancel_timers_and_itself) {
  SystemClock clock;
  std::promise<void> second;
  std::atomic<bool> third_ran = false;
  std::promise<TimerId> own_id;
  const std::shared_future<TimerId> own = own_id.get_future().share();
  const TimerId first = clock.at(clock.now() + 1ms, [&, own] {
    clock.cancel(own.get());
    const TimerId third = clock.at(clock.now() + 1ms, [&] { third_ran = true; });
    clock.cancel(third);
    clock.at(clock.now() + 5ms, [&] { second.set_value(); });
  });
  own_id.set_value(first);
  auto done = second.get_future();
  wait(done);
  BOOST_TEST(!third_ran);
}

BOOST_AUTO_TEST_CASE(destruction_drops_timers_that_are_not_due) {
  std::atomic<bool> ran = false;
  {
    SystemClock clock;
    clock.at(clock.now() + 1h, [&] { ran = true; });
  }
  BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_CASE(action_that_gets_no_memory_runs_again_and_later_ones_are_not_delayed) {
  SystemClock clock;
  int runs = 0;  // used by the clock's thread only
  std::promise<void> again;
  std::promise<int> other;
  clock.at(clock.now(), [&] {
    if (++runs == 1) throw std::bad_alloc();
    again.set_value();
  });
  clock.at(clock.now(), [&] { other.set_value(runs); });
  auto done = again.get_future();
  wait(done);
  BOOST_TEST(other.get_future().get() == 1);
}

BOOST_AUTO_TEST_CASE(action_that_cancels_itself_does_not_run_again) {
  SystemClock clock;
  std::atomic<int> runs = 0;
  TimerId timer;
  std::promise<void> set;
  std::shared_future<void> is_set = set.get_future().share();
  timer = clock.at(clock.now(), [&] {
    is_set.wait();
    ++runs;
    clock.cancel(timer);
    throw std::bad_alloc();
  });
  set.set_value();
  std::promise<void> later;
  clock.at(clock.now() + 2 * SystemClock::kAgainAfter, [&] { later.set_value(); });
  auto done = later.get_future();
  wait(done);
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(timer_that_gets_no_memory_is_not_set) {
  SystemClock clock;
  std::atomic<std::size_t> runs = 0;
  const TimePoint due = clock.now() + 20ms;
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused;) {
    const std::function<void()> action = [&] { ++runs; };
    const testing::RefusedAllocation refused(refusals + 1);  // the first allocation, then the second, ...
    try {
      clock.at(due, action);
    } catch (const std::bad_alloc&) {
      ++refusals;
    }
    is_refused = refused.happened();
  }
  BOOST_TEST(refusals == 2U);  // one for each of the clock's tables
  std::promise<void> later;
  clock.at(due + 20ms, [&] { later.set_value(); });
  auto done = later.get_future();
  wait(done);
  BOOST_TEST(runs == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
