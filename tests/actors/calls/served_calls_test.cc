#include "actors/calls/served_calls.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

const NodeLife kTrainer{"trainer", {1, 1}};
const NodeLife kTrainerAgain{"trainer", {2, 2}};
const NodeLife kOther{"other", {3, 3}};

/// Runs due timers when the test advances it.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  TimerId at(TimePoint due, std::function<void()> action) override {
    timers[++last_] = {due, std::move(action)};
    return {last_};
  }
  void cancel(TimerId timer) override { timers.erase(timer.value); }
  void advance(Duration time) {
    now_ += time;
    for (const auto& [id, timer] : std::map(timers)) {
      if (timer.first <= now_) timer.second();
    }
  }

  std::map<std::uint64_t, std::pair<TimePoint, std::function<void()>>> timers;

 private:
  TimePoint now_{1h};
  std::uint64_t last_ = 0;
};

/// Runs jobs at once, unless the test holds them back.
class ManualPool final : public Executor {
 public:
  std::vector<RunningJob> running() const override { return {}; }
  std::size_t unfinished() const override { return kept.size(); }
  std::vector<RunningJob> stop(TimePoint) override { return {}; }

  bool keeps = false;
  std::vector<Job> kept;

 private:
  std::optional<Error> take(Job& job) override {
    keeps ? kept.push_back(std::move(job)) : job.run();
    return std::nullopt;
  }
};

struct Table {
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<ManualPool> pool = std::make_shared<ManualPool>();
  ServedCalls calls{clock, pool};
};

BOOST_FIXTURE_TEST_SUITE(served_calls, Table)

BOOST_AUTO_TEST_CASE(call_counts_until_it_is_let_go) {
  auto first = calls.begin(kTrainer, {1});
  auto second = calls.begin_lasting(kTrainer, {2}, std::nullopt);
  BOOST_TEST(calls.size() == 2U);
  first.reset();
  second.reset();
  BOOST_TEST(calls.size() == 0U);
}

BOOST_AUTO_TEST_CASE(call_that_gets_no_memory_is_not_served) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused;) {
    std::shared_ptr<ServedCalls::Serving> serving;
    {
      const testing::RefusedAllocation refused(refusals + 1);  // the first allocation, then the second, ...
      try {
        serving = calls.begin(kTrainer, {1}, "a text that does not fit into the string itself");
      } catch (const std::bad_alloc&) {
        ++refusals;
      }
      is_refused = refused.happened();
    }
    BOOST_TEST((serving == nullptr) == is_refused);
    BOOST_TEST(calls.size() == (is_refused ? 0U : 1U));
  }
  BOOST_TEST(refusals >= 3U);  // the call, what counts its owners, its place in the table
}

BOOST_AUTO_TEST_CASE(cancelled_call_is_told_to_stop_and_no_other) {
  const auto first = calls.begin(kTrainer, {1});
  const auto second = calls.begin(kTrainer, {2});
  const auto same_number = calls.begin(kOther, {1});
  calls.cancelled(kTrainer, {1});
  calls.cancelled(kTrainer, {9});  // an unknown request: ignored
  BOOST_TEST(first->stop_token().stop_requested());
  BOOST_TEST(!second->stop_token().stop_requested());
  BOOST_TEST(!same_number->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(stop_callbacks_of_user_code_run_on_the_pool_and_before_what_waits_for_a_thread) {
  const auto cancelled = calls.begin(kTrainer, {1});
  const auto late = calls.begin_lasting(kTrainer, {2}, clock->now() + 10ms);
  const auto left = calls.begin(kOther, {1});
  int told = 0;
  const auto count = [&told] { ++told; };
  const std::stop_callback of_cancelled(cancelled->stop_token(), count);
  const std::stop_callback of_late(late->stop_token(), count);
  const std::stop_callback of_left(left->stop_token(), count);
  pool->keeps = true;
  calls.cancelled(kTrainer, {1});
  clock->advance(10ms);
  calls.caller_gone(kOther);
  BOOST_TEST(told == 0);
  BOOST_REQUIRE(pool->kept.size() == 3U);
  for (const Job& job : pool->kept) {
    BOOST_TEST((job.urgency == Urgency::at_once));
    job.run();
  }
  BOOST_TEST(told == 3);
}

BOOST_AUTO_TEST_CASE(end_of_a_caller_stops_what_that_life_waits_for) {
  const auto waited_for = calls.begin(kTrainer, {1});
  const auto value = calls.begin_lasting(kTrainer, {2}, std::nullopt);
  const auto of_next_life = calls.begin(kTrainerAgain, {1});
  calls.caller_gone(kTrainer);
  BOOST_TEST(waited_for->stop_token().stop_requested());
  BOOST_TEST(!value->stop_token().stop_requested());  // other nodes may hold a reference
  BOOST_TEST(!of_next_life->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(call_of_the_next_life_survives_the_end_of_one_with_its_number) {
  auto of_first_life = calls.begin(kTrainer, {1});
  const auto of_next_life = calls.begin(kTrainerAgain, {1});
  of_first_life.reset();
  BOOST_TEST(calls.size() == 1U);
  calls.cancelled(kTrainerAgain, {1});
  BOOST_TEST(of_next_life->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(value_in_the_making_is_told_to_stop_at_its_time) {
  auto value = calls.begin_lasting(kTrainer, {1}, clock->now() + 10ms);
  clock->advance(9ms);
  BOOST_TEST(!value->stop_token().stop_requested());
  clock->advance(1ms);
  BOOST_TEST(value->stop_token().stop_requested());
  value.reset();
  BOOST_TEST(clock->timers.empty());
}

BOOST_AUTO_TEST_CASE(value_made_in_time_leaves_no_timer) {
  calls.begin_lasting(kTrainer, {1}, clock->now() + 10ms).reset();
  BOOST_TEST(clock->timers.empty());
}

BOOST_AUTO_TEST_CASE(call_that_comes_after_its_cancel_is_told_to_stop_at_once) {
  calls.cancelled(kTrainer, {2});
  const auto same_number = calls.begin(kOther, {2});
  const auto of_next_life = calls.begin(kTrainerAgain, {2});
  BOOST_TEST(!same_number->stop_token().stop_requested());
  BOOST_TEST(!of_next_life->stop_token().stop_requested());
  BOOST_TEST(calls.begin(kTrainer, {2})->stop_token().stop_requested());
  BOOST_TEST(!calls.begin(kTrainer, {3})->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(cancels_without_a_call_are_remembered_up_to_a_bound_and_end_with_their_caller) {
  for (std::uint64_t request = 1; request <= ServedCalls::kEarlyCancelsMax + 1; ++request)
    calls.cancelled(kTrainer, {request});
  BOOST_TEST(!calls.begin(kTrainer, {1})->stop_token().stop_requested());  // the oldest is forgotten
  BOOST_TEST(calls.begin(kTrainer, {2})->stop_token().stop_requested());
  calls.caller_gone(kTrainer);
  BOOST_TEST(!calls.begin(kTrainer, {3})->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(stop_is_told_to_all) {
  const auto first = calls.begin(kTrainer, {1});
  const auto second = calls.begin_lasting(kOther, {1}, std::nullopt);
  calls.stop();
  BOOST_TEST(first->stop_token().stop_requested());
  BOOST_TEST(second->stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(report_names_the_oldest_first_and_no_more_than_wanted) {
  const auto first = calls.begin(kTrainer, {9}, "rpc project");
  clock->advance(2s);
  const auto second = calls.begin_lasting(kOther, {1}, std::nullopt, "rpc make");
  clock->advance(1s);
  const auto third = calls.begin(kTrainer, {1}, "rpc twice");
  auto over = calls.begin(kTrainer, {2}, "rpc over");
  over.reset();
  const std::vector<ServedFunction> expected{
      {"rpc project", "trainer", 3s}, {"rpc make", "other", 1s}, {"rpc twice", "trainer", 0s}};
  BOOST_TEST((calls.oldest(9) == expected));
  BOOST_TEST((calls.oldest(2) == std::vector(expected.begin(), expected.begin() + 2)));
}

BOOST_AUTO_TEST_CASE(call_that_only_waits_is_awaited_until_nobody_waits_for_it) {
  const auto running = calls.begin(kTrainer, {1});
  const auto value_in_the_making = calls.begin_lasting(kTrainer, {2}, clock->now() + 10ms);
  running->runs();
  value_in_the_making->runs();
  const auto is_over = [&](const auto& end, std::optional<TimePoint> due, bool is_lasting) {
    const auto later = is_lasting ? calls.begin_lasting(kOther, {1}, due) : calls.begin(kOther, {1});
    later->runs();
    later->answers_later(due);
    BOOST_TEST(calls.awaited() == 3U);
    end();
    return calls.awaited() == 2U && calls.size() == 3U;
  };
  for (const bool is_lasting : {false, true}) {
    BOOST_TEST(is_over([&] { calls.cancelled(kOther, {1}); }, std::nullopt, is_lasting));
    BOOST_TEST(is_over([&] { calls.caller_gone(kOther); }, std::nullopt, is_lasting));
    BOOST_TEST(is_over([&] { clock->advance(5ms); }, clock->now() + 5ms, is_lasting));
    BOOST_TEST(!is_over([&] { clock->advance(4ms); }, clock->now() + 5ms, is_lasting));
  }
  calls.caller_gone(kTrainer);
  BOOST_TEST(value_in_the_making->stop_token().stop_requested());  // its time is over
  BOOST_TEST(calls.awaited() == 2U);                               // functions that run are awaited all the same
}

BOOST_AUTO_TEST_CASE(call_that_has_not_begun_is_awaited_until_nobody_waits_for_it) {
  const auto cancelled = calls.begin(kTrainer, {1});
  const auto of_who_is_gone = calls.begin_lasting(kOther, {1}, std::nullopt);
  const auto late = calls.begin_lasting(kTrainer, {2}, clock->now() + 10ms);
  BOOST_TEST(calls.awaited() == 3U);
  calls.cancelled(kTrainer, {1});
  BOOST_TEST(calls.awaited() == 2U);
  calls.caller_gone(kOther);
  BOOST_TEST(calls.awaited() == 1U);
  clock->advance(10ms);
  BOOST_TEST(calls.awaited() == 0U);
  of_who_is_gone->runs();
  BOOST_TEST(calls.awaited() == 1U);  // its value comes after all
}

BOOST_AUTO_TEST_CASE(call_of_a_caller_that_was_gone_before_is_told_to_stop_unless_its_value_stays) {
  const auto waited_for = calls.begin(kTrainer, {1});
  const auto value = calls.begin_lasting(kTrainer, {2}, std::nullopt);
  for (const auto& call : {waited_for, value}) {
    call->caller_gone();
    call->answers_later(std::nullopt);
  }
  BOOST_TEST(waited_for->stop_token().stop_requested());
  BOOST_TEST(!value->stop_token().stop_requested());
  BOOST_TEST(calls.awaited() == 0U);
}

BOOST_AUTO_TEST_CASE(call_may_outlive_the_table) {
  auto other = std::make_unique<ServedCalls>(clock, pool);
  const auto call = other->begin(kTrainer, {1});
  other.reset();
  BOOST_TEST(!call->stop_token().stop_requested());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
