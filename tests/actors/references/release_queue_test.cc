#include "actors/references/release_queue.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "actors/core/peer_accounts.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

/// A pool whose jobs begin when the test says so, and what owners were told, by number.
struct Releases {
  struct Job {
    std::function<void()> run;
    std::function<void(const Error&)> refused;
  };
  std::vector<Job> jobs;
  std::vector<std::uint64_t> told;
  bool has_memory = true;
  std::function<void()> on_told = [] {};
  ReleaseQueue queue{[this](const ReleaseQueue::Release& release) {
                       told.push_back(release.fork.serial);
                       on_told();
                     },
                     [this](auto job, auto refused) {
                       if (!has_memory) throw std::bad_alloc();
                       jobs.push_back({std::move(job), std::move(refused)});
                     }};
  TimePoint now{1h};
  std::uint64_t last = 0;

  void add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) queue.add({.holder = {}, .rref = {}, .fork = {"p1", 1, ++last}}, now);
  }
  /// Runs the oldest job.
  void run_one() {
    const Job job = jobs.front();
    jobs.erase(jobs.begin());
    job.run();
  }
};

/// A node whose peers may have 40 handles of its values each.
struct AmongFewHandles : testing::AmongValues {
  AmongFewHandles() : AmongValues({}, PeerLimits{.forks_max = 40}) {}

  /// p1 says that it has the handles `first` to `last` - 1 of `value`.
  void say_forked(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) p1->say("m", "", msg::RRefForked{value->id(), {"p1", 1, i}, "p1"});
  }
  void say_deleted(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) p1->say("m", "", msg::RRefDeleted{value->id(), {"p1", 1, i}});
  }
  [[nodiscard]] std::size_t count() { return core().accounts().forks.counts()["p1"]; }
  void run_jobs() {
    for (const Job& job : std::exchange(pool->kept, {})) job.run();
  }

  std::shared_ptr<RRefHandle> value = own();
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(release_queue, Releases)

BOOST_AUTO_TEST_CASE(a_few_are_told_at_once_and_many_by_a_job_in_order) {
  add(ReleaseQueue::kAtOnce);
  BOOST_TEST(told.size() == ReleaseQueue::kAtOnce);
  BOOST_TEST(jobs.empty());
  add(10);
  BOOST_TEST(told.size() == ReleaseQueue::kAtOnce);
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  run_one();
  BOOST_TEST_REQUIRE(told.size() == last);
  for (std::uint64_t i = 0; i < last; ++i) BOOST_TEST(told[i] == i + 1);
}

BOOST_AUTO_TEST_CASE(after_a_while_a_few_are_told_at_once_again) {
  add(ReleaseQueue::kAtOnce);
  now += ReleaseQueue::kTime - 1ns;
  add(1);
  BOOST_TEST(jobs.size() == 1U);
  run_one();
  now += 1ns;
  add(ReleaseQueue::kAtOnce);
  BOOST_TEST(jobs.empty());
  BOOST_TEST(told.size() == last);
}

BOOST_AUTO_TEST_CASE(a_few_do_not_wait_behind_many_and_one_job_takes_all_that_wait) {
  add(ReleaseQueue::kAtOnce + 1);
  now += 1h;
  add(1);
  BOOST_TEST(told.size() == ReleaseQueue::kAtOnce + 1);
  BOOST_TEST(told.back() == last);
  add(ReleaseQueue::kAtOnce + 2 * ReleaseQueue::kPerJob);
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  run_one();
  BOOST_TEST(told.size() == last);
  run_one();  // others may have come meanwhile
  BOOST_TEST(jobs.empty());
}

BOOST_AUTO_TEST_CASE(a_job_takes_what_waits_when_it_begins_and_lets_others_have_their_turn) {
  add(ReleaseQueue::kAtOnce + 2 * ReleaseQueue::kPerJob);
  now += 1h;
  on_told = [this] {  // as many come as go
    if (last < 10 * ReleaseQueue::kPerJob) add(1);
  };
  run_one();
  BOOST_TEST(told.size() == 2 * (ReleaseQueue::kAtOnce + ReleaseQueue::kPerJob));  // with those that went at once
  BOOST_TEST(jobs.size() == 1U);
  while (!jobs.empty()) run_one();
  BOOST_TEST(told.size() == last);
}

BOOST_AUTO_TEST_CASE(all_that_wait_can_be_told_here) {
  add(ReleaseQueue::kAtOnce + 5);
  queue.tell_all();
  BOOST_TEST(told.size() == last);
  queue.tell_all();
  add(1);
  BOOST_TEST(jobs.size() == 2U);  // the first one finds nothing
  while (!jobs.empty()) run_one();
  BOOST_TEST(told.size() == last);
}

BOOST_AUTO_TEST_CASE(a_pool_that_never_runs_a_job_does_not_fill_the_memory, *boost::unit_test::label("attack")) {
  add(ReleaseQueue::kAtOnce + ReleaseQueue::kWaitingMax + 1000);
  BOOST_TEST(told.size() == ReleaseQueue::kAtOnce + 1000);
  BOOST_TEST(jobs.size() == 1U);
}

BOOST_AUTO_TEST_CASE(where_the_pool_refuses_or_has_no_memory_all_are_told_here) {
  add(ReleaseQueue::kAtOnce + ReleaseQueue::kPerJob + 5);
  const auto refused = std::move(jobs.front().refused);
  jobs.clear();
  refused(Error{});
  BOOST_TEST(told.size() == last);
  has_memory = false;
  add(5);
  BOOST_TEST(told.size() == last);
}

BOOST_AUTO_TEST_CASE(without_memory_to_wait_it_is_told_here) {
  add(ReleaseQueue::kAtOnce + 1);  // there is a job
  told.reserve(2 * ReleaseQueue::kAtOnce);
  ReleaseQueue::Release release{.holder = {}, .rref = {}, .fork = {"p1", 1, 1'000}};
  for (int n = 0; told.size() == ReleaseQueue::kAtOnce; ++n) {  // a deque does not allocate for each
    const testing::RefusedAllocation refused(1);
    queue.add(release, now);
    BOOST_TEST(refused.happened() == (told.size() > ReleaseQueue::kAtOnce));
    BOOST_REQUIRE(n < 1000);
  }
  BOOST_TEST(told.back() == 1'000U);
}

BOOST_FIXTURE_TEST_CASE(owners_are_told_by_a_job_of_the_pool, AmongFewHandles) {
  say_forked(0, 19);
  pool->keeps = true;
  say_deleted(0, 19);
  BOOST_TEST(count() == 19U - ReleaseQueue::kAtOnce);
  BOOST_TEST(pool->kept.size() == 1U);
  run_jobs();
  BOOST_TEST(count() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_needs_the_room_for_new_handles_gets_it_at_once, AmongFewHandles) {
  say_forked(0, 19);
  pool->keeps = true;
  say_deleted(0, 19);
  BOOST_TEST(count() == 3U);
  say_forked(19, 59);
  BOOST_TEST(p1->take<msg::RRefRevoked>().empty());
  BOOST_TEST(count() == 40U);
  run_jobs();
  BOOST_TEST(count() == 40U);
}

BOOST_FIXTURE_TEST_CASE(what_a_peer_dropped_before_its_end_and_is_not_told_yet_ends_with_it, AmongFewHandles) {
  say_forked(0, 19);
  pool->keeps = true;
  say_deleted(0, 19);
  p1->say("m", "", msg::RRefDeleted{{"p2", 2, 77}, {"p2", 2, 78}});  // the call that makes this value has not come
  p1->die();
  run_jobs();
  BOOST_TEST(count() == 0U);
  BOOST_TEST(references().owned_values() == 1U);
  BOOST_TEST(!core().failure().has_value());
  value.reset();
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
