// What threads of the pool do while they have no job.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"
#include "actors/executor.h"
#include "tests/actors/jobs.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(idle_pool)

using namespace std::chrono_literals;
using namespace testing::jobs;
using detail::WaitPoint;

/// Work of idle threads: a thread that does it takes orders from the test.
struct Work final : detail::WaitingWork {
  std::optional<bool> work_until(WaitPoint&, std::optional<TimePoint>) override { return std::nullopt; }
  std::optional<bool> work_while_idle(WaitPoint& point) override {
    if (closed) return std::nullopt;
    ++workers;
    most = std::max<int>(most, workers);
    std::function<void()> order;
    while (!point.signalled() && !closed) {
      {
        const std::lock_guard lock(mutex);
        order = std::exchange(next, nullptr);
      }
      if (order) order();
      std::this_thread::yield();
    }
    --workers;
    return point.signalled() ? std::optional(true) : std::nullopt;
  }
  void give(std::function<void()> order) {
    const std::lock_guard lock(mutex);
    next = std::move(order);
  }

  std::atomic<bool> closed = false;
  std::atomic<int> workers = 0;
  std::atomic<int> most = 0;
  std::mutex mutex;
  std::function<void()> next;  // guarded by mutex
};

BOOST_AUTO_TEST_CASE(a_job_that_an_idle_threads_work_submits_runs_on_that_thread) {
  ElasticPool pool({.threads = 3});
  const auto work = std::make_shared<Work>();
  std::array<Worker, 3> all;  // at the same time, so that all three threads exist, which sleep from then on
  for (Worker& one : all) submit(pool, one.job());
  for (Worker& one : all) BOOST_REQUIRE(one.state->begun.wait(in(5s)));
  for (Worker& one : all) one.state->go_on.signal();
  BOOST_TEST(soon([&] { return pool.counts().idle == 3; }));
  pool.work_while_idle(work);
  int elsewhere = 0;
  for (int i = 0; i < 100; ++i) {
    // A thread that just ends a job, or is about to sleep, would take the next one.
    BOOST_REQUIRE(soon([&] { return work->workers == 1 && pool.counts().idle == 3; }));
    std::thread::id submitter, runner;
    WaitPoint ran;
    work->give([&] {
      submitter = std::this_thread::get_id();
      submit(pool, {.label = "job", .run = [&] {
                      runner = std::this_thread::get_id();
                      ran.signal();
                    }});
    });
    BOOST_REQUIRE(ran.wait(in(5s)));
    elsewhere += runner == submitter ? 0 : 1;
  }
  // The two that were woken for the work, and found another at it, may still be on their way when jobs come.
  BOOST_TEST(elsewhere <= 2);
  BOOST_TEST(work->most == 1);
}

BOOST_AUTO_TEST_CASE(jobs_of_others_end_the_work_of_the_only_idle_thread_and_no_job_is_left) {
  ElasticPool pool({.threads = 2});
  const auto work = std::make_shared<Work>();
  pool.work_while_idle(work);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 2'000; ++i) {
    submit(pool, {.label = "job", .run = [&] { ++ran; }});
    if (i % 3 == 0) BOOST_REQUIRE(soon([&] { return ran == i + 1; }));
  }
  BOOST_TEST(soon([&] { return ran == 2'000; }));
  work->closed = true;
  submit(pool, {.label = "job", .run = [&] { ++ran; }});
  BOOST_TEST(soon([&] { return ran == 2'001; }));
}

BOOST_AUTO_TEST_CASE(a_second_job_of_the_work_gets_another_thread_before_the_work_ends) {
  ElasticPool pool({.threads = 2});
  const auto work = std::make_shared<Work>();
  pool.work_while_idle(work);
  BOOST_TEST(soon([&] { return work->workers == 1; }));
  WaitPoint first_ran, second_ran;
  std::atomic<bool> in_time = false;
  std::atomic<bool> submitted = false;
  work->give([&] {
    submit(pool, {.label = "first", .run = [&] { first_ran.signal(); }});
    submit(pool, {.label = "second", .run = [&] { second_ran.signal(); }});
    in_time = soon([&] { return first_ran.signalled() || second_ran.signalled(); });
    submitted = true;
  });
  BOOST_TEST(first_ran.wait(in(10s)));
  BOOST_TEST(second_ran.wait(in(10s)));
  BOOST_TEST(soon([&] { return submitted.load(); }));
  BOOST_TEST(in_time.load());
}

BOOST_AUTO_TEST_CASE(no_job_is_left_while_one_thread_sleeps_and_another_works) {
  ElasticPool pool({.threads = 2});
  const auto work = std::make_shared<Work>();
  Worker first, second;
  submit(pool, first.job());
  submit(pool, second.job());
  BOOST_TEST(first.state->begun.wait(in(5s)));
  BOOST_TEST(second.state->begun.wait(in(5s)));
  pool.work_while_idle(work);
  first.state->go_on.signal();
  second.state->go_on.signal();
  for (int i = 0; i < 500; ++i) {
    BOOST_REQUIRE(soon([&] { return pool.counts().idle == 2 && work->workers == 1; }));
    WaitPoint told, ended;
    submit(pool, {.label = "needs the other", .run = [&] {
                    static_cast<void>(told.wait_here(in(5s)));
                    ended.signal();
                  }});
    submit(pool, {.label = "the other", .run = [&] { told.signal(); }});
    BOOST_REQUIRE(told.wait(in(4s)));
    BOOST_REQUIRE(ended.wait(in(10s)));
  }
}

BOOST_AUTO_TEST_CASE(stop_ends_the_work_of_an_idle_thread) {
  ElasticPool pool({.threads = 2});
  const auto work = std::make_shared<Work>();
  pool.work_while_idle(work);
  BOOST_TEST(soon([&] { return work->workers == 1; }));
  BOOST_TEST(pool.stop(in(5s)).empty());
  BOOST_TEST(work->workers == 0);
  BOOST_TEST(pool.thread_count() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
