#include "actors/future.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/deadline.h"
#include "tensor/error.h"
#include "tests/actors/futures_home.h"
#include "tests/support/counting_new.h"
#include "tests/support/output_of.h"

namespace troupe {
namespace {

using namespace testing::futures;
using testing::output_of;
using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(futures, Home)

BOOST_AUTO_TEST_CASE(first_completion_counts, *label("F-09")) {
  const Promise<int> promise(home);
  BOOST_TEST(!promise.future().ready());
  BOOST_TEST(promise.complete(1));
  BOOST_TEST(!promise.complete(2));
  BOOST_TEST(!promise.complete(failure(ErrorCode::timeout, "late")));
  BOOST_TEST(promise.future().ready());
  BOOST_TEST(promise.future().get() == 1);
}

BOOST_AUTO_TEST_CASE(of_many_that_complete_at_once_one_succeeds) {
  for (int round = 0; round < 50; ++round) {
    const Promise<int> promise(home);
    std::atomic<int> succeeded = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { succeeded += promise.complete(i) ? 1 : 0; });
    }
    BOOST_TEST(succeeded == 1);
  }
}

BOOST_AUTO_TEST_CASE(error_is_thrown_by_every_get, *label("F-11")) {
  const Promise<int> promise(home);
  promise.complete(failure(ErrorCode::peer_down, "connection closed"));
  const Future<int> future = promise.future();
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(future.get()), RemoteError,
                          [](const RemoteError& error) { return error.code() == ErrorCode::peer_down; });
  }
}

BOOST_AUTO_TEST_CASE(waiting_thread_is_woken) {
  const Promise<int> promise(home);
  std::jthread later([promise] { promise.complete(7); });
  BOOST_TEST(promise.future().get() == 7);
}

BOOST_AUTO_TEST_CASE(get_for_returns_nothing_while_there_is_nothing) {
  const Promise<int> promise(home);
  BOOST_TEST(!promise.future().get_for(5ms).has_value());
  promise.complete(3);
  BOOST_TEST(promise.future().get_for(0ms).value().value() == 3);
}

BOOST_AUTO_TEST_CASE(last_promise_that_goes_unkept_fails_the_future) {
  Future<void> future;
  {
    const Promise<void> promise(home);
    future = promise.future();
    { const Promise<void> copy = promise; }
    BOOST_TEST(!future.ready());
  }
  const Error error = error_of(future);
  BOOST_TEST((error.code == ErrorCode::internal));
  BOOST_TEST(error.message == "the promise was dropped without an answer");
}

BOOST_AUTO_TEST_CASE(wait_tells_the_threads_hook) {
  struct Hook final : detail::BlockingHook {
    bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
      ++waits;
      action();
      return point.wait_here(due);
    }
    std::function<void()> action;
    int waits = 0;
  };
  const Promise<int> promise(home);
  Hook hook;
  hook.action = [&] { promise.complete(5); };
  const detail::BlockingHook::Guard guard(hook);
  BOOST_TEST(promise.future().get() == 5);
  BOOST_TEST(promise.future().get() == 5);  // no wait: the value is there
  BOOST_TEST(hook.waits == 1);
}

BOOST_AUTO_TEST_CASE(callbacks_that_wait_all_run, *label("F-03")) {
  const Promise<int> promise(home);
  std::vector<Future<int>> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(promise.future().then([i](int value) { return value + i; }));
  promise.complete(4);
  executor->run_all();
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST_REQUIRE(sums[static_cast<std::size_t>(i)].ready());
    BOOST_TEST(sums[static_cast<std::size_t>(i)].get() == 4 + i);
  }
}

BOOST_AUTO_TEST_CASE(callbacks_run_on_the_executor_never_where_the_future_completes, *label("F-01")) {
  const Promise<int> promise(home);
  int seen = 0;
  const Future<int> before = promise.future().then([&seen](int value) { return seen = value; });
  promise.complete(4);
  BOOST_TEST(seen == 0);
  executor->run_all();
  BOOST_TEST(seen == 4);
  BOOST_TEST(before.get() == 4);
  const Future<int> after = promise.future().then([](int value) { return value + 1; });
  BOOST_TEST(!after.ready());  // also if it is registered late
  executor->run_all();
  BOOST_TEST(after.get() == 5);
}

/// Notes the thread that destroys it.
struct NotesEnd {
  explicit NotesEnd(std::thread::id& thread) : ended_on(thread) {}
  ~NotesEnd() { ended_on = std::this_thread::get_id(); }
  NotesEnd(const NotesEnd&) = delete;
  NotesEnd& operator=(const NotesEnd&) = delete;
  std::thread::id& ended_on;
};

// Its destructor may wait for an answer that only the thread which completes the future can receive.
BOOST_AUTO_TEST_CASE(what_a_callback_captured_ends_on_the_executor_never_where_the_future_completes) {
  home.executor = std::make_shared<EndsFirst>();
  for (const bool completes_first : {false, true}) {
    std::thread::id ended_on;
    const Promise<int> promise(home);
    if (completes_first) promise.complete(1);
    const Future<int> next =
        promise.future().then([captured = std::make_shared<NotesEnd>(ended_on)](int value) { return value; });
    if (!completes_first) promise.complete(1);
    BOOST_TEST(next.get() == 1);
    BOOST_TEST((ended_on != std::thread::id()));
    BOOST_TEST((ended_on != std::this_thread::get_id()), "completes first: " << completes_first);
  }
}

BOOST_AUTO_TEST_CASE(executor_that_refuses_fails_the_child_with_its_error) {
  const Promise<int> promise(home);
  const Future<int> child = promise.future().then([](int value) { return value; });
  executor->refusal = failure(ErrorCode::shutting_down, "the pool is stopped");
  promise.complete(1);
  BOOST_TEST((error_of(child).code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(a_chain_of_any_length_is_refused_on_a_short_stack) {
  const Promise<int> promise(home);
  Future<int> last = promise.future();
  for (int i = 0; i < 100'000; ++i) last = last.then([](int value) { return value + 1; });
  executor->refusal = failure(ErrorCode::shutting_down, "the pool is stopped");
  promise.complete(1);
  BOOST_TEST((error_of(last).code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(refused_callbacks_of_one_future_run_in_the_order_in_which_they_were_given) {
  const Promise<int> promise(home);
  const Future<int> child = promise.future().then([](int value) { return value; });
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    child.state().on_done([&order, name](const Error* refused) { order += refused != nullptr ? name : '-'; });
  }
  executor->refusal = failure(ErrorCode::shutting_down, "the pool is stopped");
  promise.complete(1);
  BOOST_TEST(order == "abc");
}

/// Throws from the given move on, as a type that allocates when it is moved does without memory.
struct HardToMove {
  explicit HardToMove(int moves) : left(moves) {}
  HardToMove(const HardToMove& other) : left(other.left) { count(); }
  HardToMove& operator=(const HardToMove&) = default;
  void count() {
    if (--left < 0) throw std::bad_alloc();
  }
  int left = 0;
};

BOOST_AUTO_TEST_CASE(a_value_that_cannot_be_moved_ends_its_future_wherever_it_throws) {
  for (int moves = 0; moves < 8; ++moves) {
    const Promise<int> promise(home);
    const Future<HardToMove> child = promise.future().then([moves](int) { return HardToMove(moves); });
    promise.complete(1);
    for (; !executor->jobs.empty(); executor->jobs.pop_front()) {
      Job& job = executor->jobs.front();
      try {
        job.run();
      } catch (...) {  // as the pool does
        job.refused(failure(ErrorCode::resource_exhausted, "out of memory"));
      }
    }
    BOOST_TEST(child.ready(), moves << " moves");
    if (moves == 7) BOOST_TEST(child.get_for(Duration{})->ok());
  }
}

/// An exception whose text is null.
struct Textless : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

BOOST_AUTO_TEST_CASE(an_exception_without_a_text_is_an_error_without_one) {
  const Promise<int> promise(home);
  const Future<int> child = promise.future().then([](int) -> int { throw Textless(); });
  promise.complete(1);
  executor->run_all();
  BOOST_TEST((error_of(child).code == ErrorCode::remote_exception));
  BOOST_TEST(error_of(child).message == "");
}

BOOST_AUTO_TEST_CASE(callback_that_is_forgotten_is_dropped_unless_the_result_exists) {
  const Promise<int> promise(home);
  const Future<int> future = promise.future();
  const auto captured = std::make_shared<int>(0);
  const auto count = [captured](const Error* /*refused*/) { ++*captured; };
  const auto forgotten = future.state().on_done(count);
  const auto late = future.state().on_done(count);
  BOOST_TEST(captured.use_count() == 4);
  future.state().forget(forgotten);
  BOOST_TEST(captured.use_count() == 3);
  promise.complete(1);
  future.state().forget(late);
  executor->run_all();
  BOOST_TEST(*captured == 1);
}

BOOST_AUTO_TEST_CASE(failure_skips_callbacks_that_take_the_value, *label("F-06")) {
  const Promise<int> promise(home);
  bool called = false;
  const Future<int> skipped = promise.future().then([&called](int value) { return called = true, value; });
  const Future<std::string> told =
      promise.future().then([](const Result<int>& result) { return result ? std::string() : result.error().message; });
  promise.complete(failure(ErrorCode::timeout, "no answer"));
  executor->run_all();
  BOOST_TEST(!called);
  BOOST_TEST(error_of(skipped).message == "no answer");
  BOOST_TEST(told.get() == "no answer");
}

BOOST_AUTO_TEST_CASE(what_a_callback_throws_is_the_childs_error, *label("F-06")) {
  const Promise<int> promise(home);
  promise.complete(1);
  const Future<void> thrown = promise.future().then([](int) { throw std::out_of_range("7 of 3"); });
  const Future<void> remote =
      promise.future().then([](int) { throw RemoteError(failure(ErrorCode::peer_down, "gone")); });
  const Future<void> number = promise.future().then([](int) { throw 3; });
  executor->run_all();
  BOOST_TEST(error_of(thrown).exception_type == "std::out_of_range");
  BOOST_TEST(error_of(thrown).message == "7 of 3");
  BOOST_TEST((error_of(remote).code == ErrorCode::peer_down));
  BOOST_TEST(error_of(number).exception_type == "int");
}

BOOST_AUTO_TEST_CASE(chains_pass_values_of_any_type_and_none, *label("F-04")) {
  const Promise<void> promise(home);
  const Future<std::string> end =
      promise.future().then([] { return 20; }).then([](int value) { return value * 2.5; }).then([](double value) {
        return std::to_string(static_cast<int>(value));
      });
  promise.complete(Unit{});
  executor->run_all();
  BOOST_TEST(end.get() == "50");
}

BOOST_AUTO_TEST_CASE(value_is_decoded_once_by_the_first_who_wants_it) {
  const auto count_and_decode = [](void* count) {
    ++*static_cast<std::atomic<int>*>(count);
    return std::string("value");
  };
  const auto state = std::make_shared<detail::FutureState<std::string>>(home, count_and_decode);
  const auto count = std::make_shared<std::atomic<int>>(0);
  const std::atomic<int>& decoded = *count;
  BOOST_TEST(state->complete_later(count));
  BOOST_TEST(state->done());
  BOOST_TEST(decoded == 0);
  std::vector<const Result<std::string>*> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = &state->result(); });
  }
  BOOST_TEST(decoded == 1);
  for (const auto* result : results) BOOST_TEST(result == results[0]);
  BOOST_TEST(results[0]->value() == "value");
  BOOST_TEST(!state->complete(std::string("second")));
}

BOOST_AUTO_TEST_CASE(the_longest_wait_is_for_ever) {
  const Promise<int> promise(home);
  const std::jthread keeps([&] { promise.complete(3); });
  const auto result = promise.future().get_for(Duration::max());
  BOOST_REQUIRE(result.has_value());
  BOOST_TEST(result->value() == 3);
}

/// Completes a promise while the thread waits, unless the wait has a limit: that has passed.
struct Patience final : detail::BlockingHook {
  explicit Patience(const Promise<int>& promise) : promise_(promise), guard_(*this) {}
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    if (due) return false;
    std::jthread([this] { promise_.complete(3); }).join();
    return point.wait_here(due);
  }

 private:
  const Promise<int>& promise_;
  const Guard guard_;
};

template <class Limit>
bool is_patient(const detail::FutureHome& home, Limit limit) {
  const Promise<int> promise(home);
  const Patience patience(promise);
  return promise.future().get_for(limit).has_value();
}

BOOST_AUTO_TEST_CASE(the_longest_wait_in_any_unit_is_for_ever) {
  BOOST_TEST(is_patient(home, Duration::max()));
  BOOST_TEST(is_patient(home, std::chrono::milliseconds::max()));
  BOOST_TEST(is_patient(home, std::chrono::hours::max()));  // more than a Duration can represent
  BOOST_TEST(is_patient(home, Deadline::while_peer_lives()));
  BOOST_TEST(!is_patient(home, std::chrono::hours(24 * 365 * 200)));
  BOOST_TEST(!is_patient(home, std::chrono::hours::min()));
}

BOOST_AUTO_TEST_CASE(a_deadline_that_no_clock_reaches_is_none) {
  BOOST_TEST(!Deadline(Duration::max()).after().has_value());
  BOOST_TEST(!Deadline(std::chrono::hours::max()).after().has_value());  // more than a Duration can represent
  BOOST_TEST((Deadline(std::chrono::hours(24 * 365 * 200)).after() == std::chrono::hours(24 * 365 * 200)));
  BOOST_TEST((Deadline(std::chrono::hours::min()).after() == Duration::zero()));  // already past
  const TimePoint now{1h};
  BOOST_TEST(!later(now, Duration::max()).has_value());
  BOOST_TEST((later(now, Duration::max() - Duration(1h)) == TimePoint::max()));
}

BOOST_AUTO_TEST_CASE(continuation_that_waits_for_a_thread_is_told_when_the_pool_stops, *label("fault-F21")) {
  const auto pool = std::make_shared<ElasticPool>(PoolOptions{.threads = 1});
  detail::WaitPoint begun;
  detail::WaitPoint go_on;
  BOOST_TEST(!pool->submit({"computes", [&] {
                              begun.signal();
                              go_on.wait_here(std::nullopt);
                            }}));
  BOOST_TEST(begun.wait_here(std::chrono::steady_clock::now() + 5s));
  const Promise<int> promise(detail::FutureHome{pool, std::make_shared<RealTime>()});
  const Future<int> next = promise.future().then([](int value) { return value + 1; });
  const Future<int> last = next.then([](int value) { return value + 1; });
  promise.complete(1);
  std::thread stopping([&] { std::ignore = pool->stop(std::chrono::steady_clock::now() + 5s); });
  for (const Future<int>& future : {next, last}) {
    const auto told = future.get_for(5s);
    BOOST_REQUIRE(told.has_value());
    BOOST_TEST((told->error().code == ErrorCode::shutting_down));
  }
  go_on.signal();
  stopping.join();
}

/// A decode that throws `exception` and counts its calls.
template <class Exception>
struct ThrowingDecode : Home {
  struct Undecoded {
    Exception exception;
    int tried = 0;
  };
  static int decode(void* undecoded) {
    auto& [exception, count] = *static_cast<Undecoded*>(undecoded);
    ++count;
    throw exception;
  }
  std::shared_ptr<Undecoded> undecoded = std::make_shared<Undecoded>();

  /// Returns the errors of two threads: the one that decodes and a later one.
  std::pair<Error, Error> told_by(Exception exception) {
    undecoded->exception = exception;
    const auto state = std::make_shared<detail::FutureState<int>>(home, &decode);
    state->complete_later(undecoded);
    const Future<int> future(state);
    Error of_other;
    const Error first = error_of(future);
    std::thread([&] { of_other = error_of(future); }).join();
    return {first, of_other};
  }
};

BOOST_AUTO_TEST_CASE(exception_of_any_type_while_decoding_ends_the_future_once_for_everybody) {
  ThrowingDecode<int> number;
  const auto [first, second] = number.told_by(7);
  BOOST_TEST((first.code == ErrorCode::decode));
  BOOST_TEST(first.message == "its type threw what is no std::exception");
  BOOST_TEST((first == second));
  BOOST_TEST(number.undecoded->tried == 1);
  ThrowingDecode<std::bad_alloc> shortage;
  BOOST_TEST((shortage.told_by({}).first.code == ErrorCode::resource_exhausted));
}

/// Also those who ask later are told.
void check_that_it_ends_without_memory(const detail::FutureHome& home, const std::exception_ptr& thrown,
                                       ErrorCode code) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused; ++refusals) {
    const auto decode = [](void* undecoded) -> int {
      std::rethrow_exception(*static_cast<std::exception_ptr*>(undecoded));
    };
    const auto state = std::make_shared<detail::FutureState<int>>(home, decode);
    state->complete_later(std::make_shared<std::exception_ptr>(thrown));
    {
      const testing::RefusedAllocation refused(refusals + 1);
      static_cast<void>(state->result());
      is_refused = refused.happened();
    }
    BOOST_TEST((error_of(Future<int>(state)).code == code));
  }
  BOOST_TEST(refusals >= 2U);  // one of them refused the text of the error
}

BOOST_AUTO_TEST_CASE(value_whose_decoding_fails_without_memory_is_an_error_for_everybody) {
  const std::string text(100, 'x');
  const auto check = [&](const auto& exception, ErrorCode code) {
    check_that_it_ends_without_memory(home, std::make_exception_ptr(exception), code);
  };
  check(std::bad_alloc(), ErrorCode::resource_exhausted);
  check(DeviceMemoryError(text), ErrorCode::device_out_of_memory);
  check(std::domain_error(text), ErrorCode::decode);
  check(RemoteError(failure(ErrorCode::ref_revoked, text)), ErrorCode::ref_revoked);
}

BOOST_AUTO_TEST_CASE(what_a_callback_throws_is_logged_once_if_nobody_reads_its_future) {
  const auto logged_of = [this](const auto& use) {
    return output_of([&] {
      const Promise<int> promise(home);
      use(promise.future());
      promise.complete(7);
      executor->run_all();
    });
  };
  const auto throws = [](int value) -> int { throw std::out_of_range(std::to_string(value) + " of 3"); };
  const std::string warning = "a continuation threw and nobody has read its future: std::out_of_range: 7 of 3";
  const auto check_warns_once = [&](const std::string& logged) {
    const auto first = logged.find(warning);
    BOOST_TEST_REQUIRE(first != std::string::npos, logged);
    BOOST_TEST(logged.find("a continuation threw", first + 1) == std::string::npos, logged);
  };
  check_warns_once(logged_of([&](const Future<int>& f) { f.then(throws); }));
  check_warns_once(logged_of([&](const Future<int>& f) {  // skipped by the second one
    f.then(throws).then([](int value) { return value; });
  }));
  Future<int> read;
  std::string logged = logged_of([&](const Future<int>& f) { read = f.then(throws); });
  BOOST_CHECK_THROW(static_cast<void>(read.get()), RemoteError);
  logged += output_of([&] { read = {}; });
  logged += logged_of(
      [&](const Future<int>& f) { f.then(throws).then([](const Result<int>& result) { return result.ok(); }); });
  BOOST_TEST(logged.find("a continuation threw") == std::string::npos, logged);
}

BOOST_AUTO_TEST_CASE(future_that_failed_by_itself_is_not_logged_if_its_callback_was_skipped) {
  const std::string logged = output_of([&] {
    const Promise<int> promise(home);
    promise.future().then([](int value) { return value; });
    promise.complete(failure(ErrorCode::peer_down, "gone"));
    executor->run_all();
  });
  BOOST_TEST(logged.empty(), logged);
}

BOOST_AUTO_TEST_CASE(callback_that_gets_no_memory_is_refused_and_its_future_ends) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused;) {
    const Promise<int> promise(home);
    const Future<int> next = promise.future().then([](int x) { return x + 1; });
    {
      const testing::RefusedAllocation refused(refusals + 1);  // the first allocation, then the second, ...
      BOOST_TEST(promise.complete(1));
      is_refused = refused.happened();
    }
    executor->run_all();
    BOOST_REQUIRE(next.ready());
    if (!is_refused) break;
    ++refusals;
    BOOST_TEST((error_of(next).code == ErrorCode::resource_exhausted));
  }
  BOOST_TEST(refusals >= 2U);  // the two functions of the job
}

BOOST_AUTO_TEST_CASE(promise_that_is_dropped_without_memory_fails_its_future) {
  std::optional<Promise<int>> promise(std::in_place, home);
  const Future<int> future = promise->future();
  {
    const testing::RefusedAllocation refused(1);
    promise.reset();
    BOOST_TEST(refused.happened());
  }
  BOOST_TEST((error_of(future).code == ErrorCode::internal));
}

BOOST_AUTO_TEST_CASE(wait_for_what_only_another_process_could_complete_fails, *label("fault-F30")) {
  const auto mark = std::make_shared<std::atomic<bool>>(true);
  executor->belong_to(mark);
  const Promise<int> promise(home);
  const Promise<int> done(home);
  done.complete(1);
  const Future<int> next = promise.future().then([](int value) { return value; });
  *mark = false;  // as in a forked child
  BOOST_TEST(done.future().get() == 1);
  BOOST_CHECK_EXCEPTION(static_cast<void>(promise.future().get()), RemoteError,
                        [](const RemoteError& error) { return error.code() == ErrorCode::shutting_down; });
  BOOST_TEST((error_of(next).code == ErrorCode::shutting_down));
  BOOST_TEST((error_of(Promise<int>(home).future()).code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(what_a_future_holds_ends_before_a_wait_for_it_does) {
  struct Held {
    const Future<int>& future;
    int& ended;
    ~Held() { ended += future.ready() ? 100 : 1; }  // nobody can know yet that it is done
  };
  const Promise<int> promise(home);
  const Future<int> future = promise.future();
  int ended = 0;
  future.state().hold_until_done(std::make_shared<Held>(future, ended));
  BOOST_TEST(ended == 0);
  promise.complete(1);
  BOOST_TEST(ended == 1);
  future.state().hold_until_done(std::make_shared<Held>(future, ended));
  BOOST_TEST(ended == 101);  // it was done before
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
