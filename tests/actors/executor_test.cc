#include "actors/executor.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"
#include "tensor/math_threads.h"
#include "tests/actors/jobs.h"
#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(elastic_pool)

using namespace std::chrono_literals;
using namespace testing::jobs;
using detail::WaitPoint;

BOOST_AUTO_TEST_CASE(jobs_that_wait_for_a_thread_begin_by_priority_then_in_order) {
  ElasticPool pool({.threads = 1});
  Worker first;
  submit(pool, first.job());
  BOOST_TEST(first.state->begun.wait(in(5s)));
  std::vector<int> order;  // written by the only thread, read after its end
  using enum msg::Priority;
  int number = 0;
  for (const msg::Priority priority : {low, normal, high, low, normal, high}) {
    submit(pool, {"job", [&order, n = number++] { order.push_back(n); }, priority});
  }
  first.state->go_on.signal();
  BOOST_TEST(soon([&] { return pool.unfinished() == 0; }));
  BOOST_TEST(order == (std::vector<int>{2, 5, 1, 4, 0, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(job_runs_on_another_thread) {
  ElasticPool pool({.threads = 1});
  std::promise<std::thread::id> ran;
  submit(pool, {"job", [&] { ran.set_value(std::this_thread::get_id()); }});
  BOOST_TEST((ran.get_future().get() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(no_more_functions_compute_at_once_than_there_are_threads) {
  ElasticPool pool({.threads = 2});
  std::vector<Worker> workers(4);
  for (Worker& worker : workers) submit(pool, worker.job());
  BOOST_TEST(workers[0].state->begun.wait(in(5s)));
  BOOST_TEST(workers[1].state->begun.wait(in(5s)));
  BOOST_TEST(pool.thread_count() == 2U);
  BOOST_TEST(pool.running().size() == 2U);
  BOOST_TEST(pool.unfinished() == 4U);
  BOOST_TEST(!workers[2].state->begun.signalled());
  workers[0].state->go_on.signal();
  BOOST_TEST(workers[2].state->begun.wait(in(5s)));
  for (Worker& worker : workers) worker.state->go_on.signal();
  for (Worker& worker : workers) BOOST_TEST(worker.state->ended.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.unfinished() == 0; }));
}

BOOST_AUTO_TEST_CASE(pool_of_one_grows_while_functions_wait_and_shrinks_again, *boost::unit_test::label("fault-F38")) {
  ElasticPool pool({.threads = 1});
  std::vector<Waiter> waiters(10);
  for (Waiter& waiter : waiters) submit(pool, waiter.job());
  for (Waiter& waiter : waiters) BOOST_TEST(waiter.state->begun.wait(in(5s)));  // all at once
  BOOST_TEST(soon([&] { return pool.thread_count() >= 10; }));
  for (Waiter& waiter : waiters) waiter.state->go_on.signal();
  for (Waiter& waiter : waiters) BOOST_TEST(waiter.state->ended.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.thread_count() <= 1; }));
  Waiter again;
  submit(pool, again.job());
  BOOST_TEST(again.state->begun.wait(in(5s)));
  again.state->go_on.signal();
}

BOOST_AUTO_TEST_CASE(chain_of_waits_on_one_thread_ends) {
  ElasticPool pool({.threads = 1});
  constexpr int kDepth = 200;
  std::function<void(int, std::shared_ptr<WaitPoint>)> begin = [&](int depth, const std::shared_ptr<WaitPoint>& done) {
    submit(pool, {"depth", [&begin, depth, done] {
                    if (depth > 0) {
                      const auto deeper = std::make_shared<WaitPoint>();
                      begin(depth - 1, deeper);
                      deeper->wait(in(10s));
                    }
                    done->signal();
                  }});
  };
  const auto done = std::make_shared<WaitPoint>();
  begin(kDepth, done);
  BOOST_TEST(done->wait(in(10s)));
}

BOOST_AUTO_TEST_CASE(jobs_are_refused_when_the_last_thread_that_could_run_them_begins_to_wait,
                     *boost::unit_test::label("fault-F38")) {
  ElasticPool pool({.threads = 1, .threads_max = 2});
  Waiter waiter;
  submit(pool, waiter.job());
  BOOST_TEST(waiter.state->begun.wait(in(5s)));
  // Computes until the jobs are queued, then waits too.
  const auto computing = std::make_shared<Waiter::State>();
  WaitPoint queued;
  submit(pool, {"computes", [computing, &queued] {
                  computing->begun.signal();
                  queued.wait_here(in(10s));
                  computing->go_on.wait(in(10s));
                  computing->ended.signal();
                }});
  BOOST_TEST(computing->begun.wait(in(5s)));
  std::vector<Error> told;  // written by the computing thread, read after its signal
  WaitPoint second_told;
  const auto never = [] { BOOST_ERROR("a refused job ran"); };
  const auto tell = [&](const Error& why) {
    told.push_back(why);
    if (told.size() == 2) second_told.signal();
  };
  WaitPoint stayed;
  submit(pool, {.label = "first", .run = never, .refused = tell});
  submit(pool, {.label = "stays", .run = [&stayed] { stayed.signal(); }});
  submit(pool, {.label = "second", .run = never, .priority = msg::Priority::high, .refused = tell});
  queued.signal();
  BOOST_TEST(second_told.wait(in(5s)));
  for (const Error& why : told) {
    BOOST_TEST((why.code == ErrorCode::resource_exhausted));
    BOOST_TEST(why.message == "all 2 pool threads wait (pool.threads_max)");
    BOOST_TEST((why.execution == Execution::never));
  }
  BOOST_TEST(!stayed.signalled());
  computing->go_on.signal();
  waiter.state->go_on.signal();
  BOOST_TEST(stayed.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.unfinished() == 0; }));
}

/// Uses the pool in its destructor, as handles that say goodbye do.
struct Handle {
  explicit Handle(Executor& used, std::atomic<int>& count) : pool(used), ended(count) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    std::ignore = pool.unfinished();
    ++ended;
  }
  Executor& pool;
  std::atomic<int>& ended;
};

BOOST_AUTO_TEST_CASE(what_a_job_holds_may_use_the_pool_when_it_is_let_go) {
  std::atomic<int> ended = 0;
  ElasticPool pool({.threads = 1});
  submit(pool, {.label = "run holds", .run = [handle = std::make_shared<Handle>(pool, ended)] {}});
  submit(pool, {.label = "refused holds",
                .run = [] {},
                .refused = [handle = std::make_shared<Handle>(pool, ended)](const Error&) {}});
  BOOST_TEST(soon([&] { return ended == 2; }));
}

BOOST_AUTO_TEST_CASE(job_beyond_the_bound_is_refused_at_once) {
  ElasticPool pool({.threads = 1, .threads_max = 3});
  std::vector<Waiter> waiters(3);
  for (Waiter& waiter : waiters) submit(pool, waiter.job());
  for (Waiter& waiter : waiters) BOOST_TEST(waiter.state->begun.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.submit({"one more", [] {}}).has_value(); }));
  const auto refused = pool.submit({"one more", [] {}});
  BOOST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code == ErrorCode::resource_exhausted));
  BOOST_TEST(refused->message == "all 3 pool threads wait (pool.threads_max)");
  BOOST_TEST((refused->execution == Execution::never));
  std::vector<std::string> told;
  std::ignore = pool.submit(
      {.label = "told", .run = [] {}, .refused = [&told](const Error& why) { told.push_back(why.message); }});
  BOOST_TEST(told == (std::vector<std::string>{refused->message}), boost::test_tools::per_element());
  for (Waiter& waiter : waiters) waiter.state->go_on.signal();
  for (Waiter& waiter : waiters) BOOST_TEST(waiter.state->ended.wait(in(5s)));
  BOOST_TEST(soon([&] { return !pool.submit({"now it fits", [] {}}); }));
}

BOOST_AUTO_TEST_CASE(jobs_behind_busy_threads_are_not_beyond_the_bound) {
  ElasticPool pool({.threads = 1, .threads_max = 1});
  Worker busy;
  submit(pool, busy.job());
  BOOST_TEST(busy.state->begun.wait(in(5s)));
  constexpr int kJobs = 100;
  std::atomic<int> ran = 0;
  for (int i = 0; i < kJobs; ++i) submit(pool, {"queued", [&ran] { ++ran; }});
  busy.state->go_on.signal();
  BOOST_TEST(soon([&] { return ran == kJobs; }));
  BOOST_TEST(pool.thread_count() == 1U);
}

BOOST_AUTO_TEST_CASE(running_says_label_age_and_whether_it_waits) {
  ElasticPool pool({.threads = 2});
  Waiter waiter;
  Worker worker;
  submit(pool, waiter.job("rpc a for b"));
  submit(pool, worker.job("rpc c for d"));
  BOOST_TEST(waiter.state->begun.wait(in(5s)));
  BOOST_TEST(worker.state->begun.wait(in(5s)));
  BOOST_TEST(soon([&] {
    const std::vector<RunningJob> running = pool.running();
    return running.size() == 2 && running[0].label == "rpc a for b" && running[0].waiting &&
           running[1].label == "rpc c for d" && !running[1].waiting && running[1].age > 0ns;
  }));
  waiter.state->go_on.signal();
  worker.state->go_on.signal();
}

BOOST_AUTO_TEST_CASE(stop_waits_for_what_runs_and_drops_what_has_not_begun) {
  ElasticPool pool({.threads = 1});
  Worker running;
  submit(pool, running.job());
  BOOST_TEST(running.state->begun.wait(in(5s)));
  const auto held = std::make_shared<int>(1);
  std::atomic<bool> ran = false;
  submit(pool, {"queued", [held, &ran] { ran = true; }});
  std::jthread release([&] {
    const auto is_stopping = [&] {
      const auto refused = pool.submit({"before the stop", [] {}});
      return refused && refused->code == ErrorCode::shutting_down;
    };
    while (!is_stopping()) std::this_thread::yield();
    running.state->go_on.signal();
  });
  BOOST_TEST(pool.stop(in(5s)).empty());
  BOOST_TEST(running.state->ended.signalled());
  BOOST_TEST(!ran);
  BOOST_TEST(held.use_count() == 1);
  const auto refused = pool.submit({"late", [] {}});
  BOOST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code == ErrorCode::shutting_down));
  BOOST_TEST(refused->message == "the pool is stopped");
}

BOOST_AUTO_TEST_CASE(a_job_that_stops_the_pool_waits_for_the_others_and_not_for_itself) {
  ElasticPool pool({.threads = 2});
  Worker other;
  submit(pool, other.job());
  BOOST_TEST(other.state->begun.wait(in(5s)));
  std::promise<std::vector<RunningJob>> left;
  submit(pool, {"stop", [&] { left.set_value(pool.stop(in(10s))); }});
  other.state->go_on.signal();
  BOOST_TEST(left.get_future().get().empty());
  BOOST_TEST(other.state->ended.signalled());
  BOOST_TEST(pool.stop(in(5s)).empty());
  BOOST_TEST(pool.thread_count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_pool_knows_the_threads_that_run_its_jobs) {
  ElasticPool pool({.threads = 1});
  ElasticPool another({.threads = 1});
  std::promise<std::pair<bool, bool>> ran;
  submit(pool, {"job", [&] { ran.set_value({pool.runs_this_thread(), another.runs_this_thread()}); }});
  BOOST_TEST((ran.get_future().get() == std::pair(true, false)));
  BOOST_TEST(!pool.runs_this_thread());
}

BOOST_AUTO_TEST_CASE(stop_returns_at_its_deadline_and_names_the_abandoned, *boost::unit_test::label("fault-F21")) {
  Worker busy;
  {
    ElasticPool pool({.threads = 1});
    submit(pool, busy.job("rpc slow for trainer"));
    BOOST_TEST(busy.state->begun.wait(in(5s)));
    const TimePoint begin = std::chrono::steady_clock::now();
    const std::vector<RunningJob> left = pool.stop(begin + 30ms);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 5s));
    BOOST_REQUIRE(left.size() == 1U);
    BOOST_TEST(left[0].label == "rpc slow for trainer");
    BOOST_TEST((left[0].age >= 30ms));
  }
  busy.state->go_on.signal();  // the thread outlives the pool
  BOOST_TEST(busy.state->ended.wait(in(5s)));
}

BOOST_AUTO_TEST_CASE(jobs_that_a_stop_drops_are_told_so, *boost::unit_test::label("fault-F21")) {
  ElasticPool pool({.threads = 1});
  Worker running;
  submit(pool, running.job());
  BOOST_TEST(running.state->begun.wait(in(5s)));
  std::vector<Error> told;
  const auto tell = [&](const Error& why) {
    told.push_back(why);
    running.state->go_on.signal();  // before the stop has waited for it: the job may wait for a dropped one
  };
  submit(pool, {.label = "queued", .run = [] { BOOST_ERROR("a dropped job ran"); }, .refused = tell});
  BOOST_TEST(pool.stop(in(5s)).empty());
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].code == ErrorCode::shutting_down));
  BOOST_TEST(told[0].message == "the pool is stopped");
}

BOOST_AUTO_TEST_CASE(stop_needs_no_memory_to_refuse_what_is_queued_and_to_wait, *boost::unit_test::label("fault-F38")) {
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Worker running;
    ElasticPool pool({.threads = 1});
    submit(pool, running.job("a label that is too long for a string without memory"));
    BOOST_TEST(running.state->begun.wait(in(5s)));
    std::vector<ErrorCode> told;
    told.reserve(1);
    submit(pool, {.label = "queued", .run = [] {}, .refused = [&told](const Error& why) { told.push_back(why.code); }});
    std::string failure;
    std::size_t left = 0;
    {
      const testing::RefusedAllocation refused(n);
      try {
        left = pool.stop(TimePoint{}).size();
      } catch (const std::bad_alloc&) {
        failure = "bad_alloc";
      }
      is_refused = refused.happened();
    }
    running.state->go_on.signal();
    BOOST_TEST(running.state->ended.wait(in(5s)));
    BOOST_TEST(failure == "", "allocation " << n);
    BOOST_TEST((told == std::vector{ErrorCode::shutting_down}), "allocation " << n);
    BOOST_TEST((left == 1U || is_refused), "allocation " << n);
  }
}

BOOST_AUTO_TEST_CASE(what_a_job_throws_is_told_to_who_waits_and_its_thread_goes_on) {
  ElasticPool pool({.threads = 1});
  WaitPoint ended;
  std::vector<std::string> told;  // written by the only thread, read after its end
  const auto tell = [&told](const Error& why) { told.push_back(why.text()); };
  submit(pool, {.label = "first", .run = [] { throw std::bad_alloc(); }, .refused = tell});
  submit(pool, {.label = "second", .run = [] { throw 7; }, .refused = tell});
  submit(pool, {.label = "nobody waits", .run = [] { throw std::runtime_error("boom"); }});
  submit(pool, {.label = "last", .run = [&ended] { ended.signal(); }});
  BOOST_TEST(ended.wait(in(5s)));
  BOOST_TEST(told == (std::vector<std::string>{"first: resource_exhausted: out of memory",
                                               "second: internal: it threw what is no std::exception"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(job_that_makes_others_end_begins_although_all_threads_compute_and_while_the_pool_stops) {
  ElasticPool pool({.threads = 1});
  Worker busy;
  submit(pool, busy.job());
  BOOST_TEST(busy.state->begun.wait(in(5s)));
  WaitPoint ran;
  submit(pool, {.label = "stop callbacks", .run = [&ran] { ran.signal(); }, .urgency = Urgency::at_once});
  BOOST_TEST(ran.wait(in(5s)));
  submit(pool,
         {.label = "stop callbacks", .run = [&busy] { busy.state->go_on.signal(); }, .urgency = Urgency::at_once});
  BOOST_TEST(pool.stop(in(5s)).empty());
  BOOST_TEST(busy.state->ended.signalled());
}

BOOST_AUTO_TEST_CASE(job_computes_with_one_math_thread_unless_its_pool_has_threads_of_its_own_kind) {
  int elsewhere = 0;
  std::thread([&] { elsewhere = MathThreads::current(); }).join();
  const auto threads_of_a_job = [](ElasticPool& pool) {
    std::promise<int> threads;
    submit(pool, {.label = "ask", .run = [&] { threads.set_value(MathThreads::current()); }});
    return threads.get_future().get();
  };
  ElasticPool pool({.threads = 1});
  BOOST_TEST(threads_of_a_job(pool) == 1);
  ElasticPool foreign({.threads = 1}, [](std::function<void()> body) { std::thread(std::move(body)).detach(); });
  BOOST_TEST(threads_of_a_job(foreign) == elsewhere);
}

/// Grants `n` threads and refuses all others, as a system without free threads does.
struct ScarceThreads {
  explicit ScarceThreads(int threads) : left(threads) {}

  [[nodiscard]] StartThread start() {
    return [this](std::function<void()> body) {
      ++asked;
      if (left-- <= 0) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
      start_detached_thread(std::move(body));
    };
  }

  std::atomic<int> left;
  std::atomic<int> asked = 0;
};

const std::string kNoMore =
    ", and the system gives no more: " + std::make_error_code(std::errc::resource_unavailable_try_again).message();

BOOST_AUTO_TEST_CASE(job_that_gets_no_thread_stays_queued_while_another_computes,
                     *boost::unit_test::label("fault-F18")) {
  ScarceThreads threads(1);
  ElasticPool pool({.threads = 4}, threads.start());
  Worker busy;
  submit(pool, busy.job());
  BOOST_TEST(busy.state->begun.wait(in(5s)));
  std::atomic<int> ran = 0;
  for (int i = 0; i < 10; ++i) {
    submit(pool,
           {.label = "queued", .run = [&ran] { ++ran; }, .refused = [](const Error& why) { BOOST_ERROR(why.text()); }});
  }
  BOOST_TEST(pool.thread_count() == 1U);
  BOOST_TEST(threads.asked > 1);
  busy.state->go_on.signal();
  BOOST_TEST(soon([&] { return ran == 10; }));
}

BOOST_AUTO_TEST_CASE(job_that_gets_no_thread_is_refused_when_all_wait_and_a_thread_is_asked_for_again,
                     *boost::unit_test::label("fault-F18")) {
  ScarceThreads threads(1);
  ElasticPool pool({.threads = 4}, threads.start());
  Waiter waiter;
  submit(pool, waiter.job());
  BOOST_TEST(waiter.state->begun.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.counts().waiting == 1; }));
  const auto refused = pool.submit({"one more", [] {}});
  BOOST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code == ErrorCode::resource_exhausted));
  BOOST_TEST(refused->message == "all 1 pool threads wait" + kNoMore);
  BOOST_TEST((refused->execution == Execution::never));
  threads.left = 1;
  WaitPoint ran;
  submit(pool, {"now there is one", [&ran] { ran.signal(); }});
  BOOST_TEST(ran.wait(in(5s)));
  waiter.state->go_on.signal();
  BOOST_TEST(waiter.state->ended.wait(in(5s)));
}

BOOST_AUTO_TEST_CASE(queued_job_is_refused_when_the_last_thread_begins_to_wait_and_no_other_can_be_had,
                     *boost::unit_test::label("fault-F18")) {
  ScarceThreads threads(1);
  ElasticPool pool({.threads = 4}, threads.start());
  const auto computing = std::make_shared<Waiter::State>();
  WaitPoint queued;
  submit(pool, {"computes", [computing, &queued] {
                  computing->begun.signal();
                  queued.wait_here(in(10s));
                  computing->go_on.wait(in(10s));
                  computing->ended.signal();
                }});
  BOOST_TEST(computing->begun.wait(in(5s)));
  WaitPoint told;
  std::string why;
  submit(pool, {.label = "queued",
                .run = [] { BOOST_ERROR("a refused job ran"); },
                .refused =
                    [&](const Error& error) {
                      why = error.message;
                      told.signal();
                    }});
  queued.signal();
  BOOST_TEST(told.wait(in(5s)));
  BOOST_TEST(why == "all 1 pool threads wait" + kNoMore);
  computing->go_on.signal();
  BOOST_TEST(computing->ended.wait(in(5s)));
}

/// Tells that a thread waits.
struct Told final : detail::WaitingWork {
  std::optional<bool> work_until(WaitPoint&, std::optional<TimePoint>) override {
    waits.signal();
    return std::nullopt;
  }
  std::optional<bool> work_while_idle(WaitPoint&) override { return std::nullopt; }
  WaitPoint waits;
};

// What a refused task holds may wait at its end.
BOOST_AUTO_TEST_CASE(thread_that_waits_for_a_job_it_refuses_as_it_starts_to_wait_counts_once,
                     *boost::unit_test::label("fault-F38")) {
  ElasticPool pool({.threads = 1, .threads_max = 1});
  WaitPoint queued;
  WaitPoint ended;
  submit(pool, {"waits", [&] {
                  queued.wait_here(in(10s));
                  static_cast<void>(WaitPoint().wait(TimePoint{}));
                  ended.signal();
                }});
  const auto told = std::make_shared<Told>();
  WaitPoint go_on(told);
  submit(pool, {.label = "queued", .run = [] {}, .refused = [&go_on](const Error&) { go_on.wait(in(10s)); }});
  queued.signal();
  BOOST_TEST(told->waits.wait(in(5s)));
  BOOST_TEST(pool.counts().waiting == 1U);
  BOOST_TEST(pool.submit({"one more", [] {}}).has_value());
  go_on.signal();
  BOOST_TEST(ended.wait(in(5s)));
  BOOST_TEST(soon([&] { return pool.counts().waiting == 0; }));
}

BOOST_AUTO_TEST_CASE(wait_needs_no_memory_to_refuse_the_jobs_that_are_queued, *boost::unit_test::label("fault-F38")) {
  std::size_t told = 0;  // written by the threads of the pools, read after their ends
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    ElasticPool full({.threads = 1, .threads_max = 1});
    std::string failure;
    WaitPoint queued;
    WaitPoint ended;
    submit(full, {"waits", [&] {
                    queued.wait_here(in(10s));
                    const testing::RefusedAllocation refused(n);
                    try {
                      static_cast<void>(WaitPoint().wait(TimePoint{}));
                    } catch (const std::bad_alloc&) {
                      failure = "bad_alloc";
                    }
                    is_refused = refused.happened();
                    ended.signal();
                  }});
    submit(full, {.label = "queued",
                  .run = [] {},
                  .refused =
                      [&told](const Error& why) {
                        told += why.code == ErrorCode::resource_exhausted && why.execution == Execution::never ? 1 : 0;
                      }});
    queued.signal();
    BOOST_TEST(ended.wait(in(5s)));
    BOOST_TEST(failure == "", "allocation " << n);
    BOOST_TEST(told == n, "allocation " << n);
    BOOST_TEST(full.counts().waiting == 0U, "allocation " << n);
  }
  BOOST_TEST(told > 1U);
}

BOOST_AUTO_TEST_CASE(pool_that_gets_no_first_thread_does_not_begin, *boost::unit_test::label("fault-F18")) {
  ScarceThreads threads(0);
  BOOST_CHECK_EXCEPTION(ElasticPool({.threads = 1}, threads.start()), RemoteError, [](const RemoteError& error) {
    return error.code() == ErrorCode::resource_exhausted &&
           error.error().message.starts_with("the system gives the pool no first thread: ");
  });
}

BOOST_AUTO_TEST_CASE(pool_of_another_process_refuses_jobs, *boost::unit_test::label("fault-F30")) {
  ElasticPool pool({.threads = 1});
  const auto mark = std::make_shared<std::atomic<bool>>(true);
  pool.belong_to(mark);
  BOOST_TEST(!pool.submit({"job", [] {}}));
  *mark = false;  // as in a forked child
  std::optional<Error> told;
  const auto refusal = pool.submit({"job", [] {}, {}, [&](const Error& why) { told = why; }});
  BOOST_REQUIRE((refusal && told));
  BOOST_TEST((refusal->code == ErrorCode::shutting_down));
  BOOST_TEST((*told == *refusal));
}

BOOST_AUTO_TEST_CASE(pool_without_a_size_has_at_least_two_threads) {
  ElasticPool pool({});
  std::vector<Worker> workers(2);
  for (Worker& worker : workers) submit(pool, worker.job());
  for (Worker& worker : workers) BOOST_TEST(worker.state->begun.wait(in(5s)));
  for (Worker& worker : workers) worker.state->go_on.signal();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
