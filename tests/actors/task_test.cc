// Coroutines whose expressions hold temporaries. GCC 12 does not compile the array of a std::initializer_list in a
// coroutine that waits; shapes in braces use none (tensor/shape.h).
#include "actors/task.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/calls/exception_types.h"
#include "actors/exceptions.h"
#include "actors/scope.h"
#include "actors/stream.h"
#include "autograd/anomaly.h"
#include "autograd/ops.h"
#include "autograd/variable.h"
#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/support/counting_new.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(task)

namespace {

/// Runs a job at once, on the calling thread, unless it is full.
class InlineExecutor final : public Executor {
 public:
  bool is_full = false;
  std::optional<Error> take(Job& job) override {
    if (is_full) return make_error(ErrorCode::resource_exhausted, "it is full");
    job.run();
    return std::nullopt;
  }
  std::vector<RunningJob> running() const override { return {}; }
  std::size_t unfinished() const override { return 0; }
  std::vector<RunningJob> stop(TimePoint) override { return {}; }
};

class RealTime final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  TimerId at(TimePoint, std::function<void()>) override { throw std::logic_error("no timers here"); }
  void cancel(TimerId) override {}
};

/// What the guards of a thread have set.
struct Setting {
  static Setting here() { return {grad_enabled(), checks_anomalies(), MathThreads::current()}; }
  friend bool operator==(const Setting&, const Setting&) = default;

  bool records = true;
  bool checks = false;
  int math_threads = 1;

 private:
  static bool checks_anomalies() {
    try {
      const EnableGradGuard record;
      static_cast<void>(log(Variable(scalar(-1.F), RequiresGrad::yes)));
      return false;
    } catch (const AnomalyError&) {
      return true;
    }
  }
};

/// Runs each job on a thread of its own, which has ended before `submit` returns, and notes how the job leaves it.
class OtherThread final : public Executor {
 public:
  std::vector<Setting> left;
  std::optional<Error> take(Job& job) override {
    std::thread([this, own = std::move(job)]() mutable {
      const MathThreads one(1);
      std::exchange(own, {}).run();
      left.push_back(Setting::here());
    }).join();
    return std::nullopt;
  }
  std::vector<RunningJob> running() const override { return {}; }
  std::size_t unfinished() const override { return 0; }
  std::vector<RunningJob> stop(TimePoint) override { return {}; }
};

detail::TaskPlace place(std::shared_ptr<Executor> executor = std::make_shared<InlineExecutor>()) {
  return {{std::move(executor), std::make_shared<RealTime>()}, nullptr, nullptr};
}

/// Throws when it is moved more often than that.
struct HardToReturn {
  explicit HardToReturn(int moves) : left(moves) {}
  HardToReturn(const HardToReturn& other) : left(other.left) {
    if (--left < 0) throw std::bad_alloc();
  }
  int left = 0;
};

Task<HardToReturn> hard_to_return(int moves) { co_return HardToReturn(moves); }

/// Notes whether a future was done at its own end.
struct NotesAtEnd {
  ~NotesAtEnd() { *was_done = future->ready(); }
  const Future<int>* future;
  std::optional<bool>* was_done;
};

Task<int> waits_for(Future<int> other, const Future<int>* own, std::optional<bool>* own_was_done) {
  const NotesAtEnd local{own, own_was_done};
  co_return co_await other;
}

Task<int> waits_with(NotesAtEnd /*parameter*/, Future<int> other) { co_return co_await other; }

/// Counts its end, unless it has been moved from.
struct CountsAtEnd {
  explicit CountsAtEnd(int& ends) : ended(&ends) {}
  CountsAtEnd(CountsAtEnd&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
  CountsAtEnd& operator=(CountsAtEnd&&) = delete;
  ~CountsAtEnd() {
    if (ended != nullptr) ++*ended;
  }
  int* ended;
};

/// An exception whose fields cannot be encoded.
struct Unencodable : std::runtime_error {
  Unencodable() : std::runtime_error("it has one field") {}
  int field = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (std::is_same_v<Archive, OutArchive>) throw field;
    else ar(field);
  }
};

template <class Exception>
Task<int> fails_at_once(CountsAtEnd /*parameter*/) {
  throw Exception();
  co_return 1;
}

struct OutOfRange : std::out_of_range {
  OutOfRange() : std::out_of_range("a text that is too long for the space that a string has without an allocation") {}
};

Task<Tensor> doubled(Tensor x) { co_return x * 2.0; }

Task<Tensor> doubled_twice() {
  const Tensor once = co_await doubled(ones({2, 3}));
  co_return reshape(once, {3, 2}) + co_await doubled(ones({3, 2}));
}

constexpr Setting kGuarded{.records = false, .checks = true, .math_threads = 3};

Stream<Setting> guarded_settings(int count, bool throws = false) {
  const NoGradGuard nothing_recorded;
  const AnomalyGuard checked(Anomaly::nan);
  const LabelGuard labelled("stream");
  const MathThreads threads(3);
  for (int i = 0; i < count; ++i) co_yield Setting::here();
  if (throws) throw std::runtime_error("the stream failed");
}

Task<Setting> setting_after(Future<int> other) {
  static_cast<void>(co_await other);
  co_return Setting::here();
}

Task<std::vector<Setting>> guarded_settings_around(Future<int> first, Future<int> second) {
  std::vector<Setting> settings;
  {
    const NoGradGuard nothing_recorded;
    const AnomalyGuard checked(Anomaly::nan);
    const LabelGuard labelled("task");
    const MathThreads threads(3);
    static_cast<void>(co_await first);
    settings.push_back(Setting::here());
    settings.push_back(co_await setting_after(second));
  }
  settings.push_back(Setting::here());
  co_return settings;
}

Stream<Tensor> of_growing_shapes(std::int64_t columns) {
  co_yield ones({});
  co_yield ones({2});
  co_yield reshape(arange(2 * columns, DType::f32), {2, columns});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_moved_ends_its_task_wherever_it_throws) {
  int failed = 0;
  for (int moves = 0; moves < 8; ++moves) {
    const auto future = hard_to_return(moves).start_in(std::make_shared<detail::TaskPlace>(place()));
    BOOST_REQUIRE(future.ready());
    if (!future.state().result()) ++failed;
  }
  BOOST_TEST(failed > 2);
  BOOST_TEST(failed < 8);
}

// Who waits for a task may end what its locals refer to.
BOOST_AUTO_TEST_CASE(a_task_that_cannot_go_on_is_done_after_its_locals_have_ended) {
  const auto executor = std::make_shared<InlineExecutor>();
  const detail::TaskPlace here = place(executor);
  const Promise<int> awaited(here.home);
  Promise<int> unused(here.home);
  Future<int> result = unused.future();
  std::optional<bool> was_done;
  result = waits_for(awaited.future(), &result, &was_done).start_in(std::make_shared<detail::TaskPlace>(here));
  executor->is_full = true;
  awaited.complete(1);
  BOOST_REQUIRE(result.ready());
  BOOST_TEST((result.state().result().error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((was_done == false));
}

BOOST_AUTO_TEST_CASE(a_task_is_done_after_its_parameters_have_ended) {
  const detail::TaskPlace here = place();
  const Promise<int> awaited(here.home);
  Future<int> result = Promise<int>(here.home).future();
  std::optional<bool> was_done;
  const NotesAtEnd notes{&result, &was_done};
  result = waits_with(notes, awaited.future()).start_in(std::make_shared<detail::TaskPlace>(here));
  was_done.reset();
  awaited.complete(1);
  BOOST_TEST(result.get() == 1);
  BOOST_TEST((was_done == false));
}

BOOST_AUTO_TEST_CASE(a_task_that_fails_at_once_without_memory_for_its_error_ends_its_parameters) {
  const auto here = std::make_shared<detail::TaskPlace>(place());
  int thrown = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    int ends = 0;
    try {
      Task<int> task = fails_at_once<OutOfRange>(CountsAtEnd(ends));
      const testing::RefusedAllocation refused(n);
      is_refused = false;
      std::ignore = std::move(task).start_in(here);
      is_refused = refused.happened();
    } catch (const std::bad_alloc&) {
      is_refused = true;
      ++thrown;
    }
    BOOST_TEST(ends == 1, "allocation " << n);
  }
  BOOST_TEST(thrown > 3);
}

BOOST_AUTO_TEST_CASE(a_task_fails_whatever_the_fields_of_its_exception_throw) {
  const auto types = std::make_shared<detail::ExceptionTypes>();
  types->add(detail::registered_exception<Unencodable>("unencodable"));
  detail::TaskPlace here = place();
  here.home.exceptions = types;
  int ends = 0;
  const auto result =
      fails_at_once<Unencodable>(CountsAtEnd(ends)).start_in(std::make_shared<detail::TaskPlace>(std::move(here)));
  BOOST_TEST(ends == 1);
  BOOST_TEST_REQUIRE(result.ready());
  const Error& error = result.state().result().error();
  BOOST_TEST(error.message == "it has one field");
  BOOST_TEST(error.hint == "the fields of unencodable do not travel: serialize threw what is no std::exception");
}

BOOST_AUTO_TEST_CASE(a_task_whose_future_is_cancelled_goes_on_to_its_end) {
  const detail::TaskPlace here = place();
  const Promise<int> awaited(here.home);
  Promise<int> unused(here.home);
  Future<int> result = unused.future();
  std::optional<bool> was_done;
  result = waits_for(awaited.future(), &result, &was_done).start_in(std::make_shared<detail::TaskPlace>(here));
  BOOST_TEST(result.cancel());
  BOOST_TEST(result.ready());
  BOOST_TEST((was_done == std::nullopt));  // it still uses what it refers to
  BOOST_TEST(!awaited.future().ready());   // which others may await
  awaited.complete(1);
  BOOST_TEST((was_done == true));
  BOOST_TEST((result.state().result().error().code == ErrorCode::cancelled));
}

BOOST_AUTO_TEST_CASE(guards_that_a_task_holds_act_wherever_it_continues_and_nowhere_else) {
  const MathThreads one(1);
  const auto executor = std::make_shared<OtherThread>();
  const detail::TaskPlace there = place(executor);
  const Promise<int> first(there.home);
  const Promise<int> second(there.home);
  const auto settings =
      guarded_settings_around(first.future(), second.future()).start_in(std::make_shared<detail::TaskPlace>(there));
  BOOST_TEST((Setting::here() == Setting{}));
  first.complete(1);
  second.complete(2);
  BOOST_TEST_REQUIRE(settings.get().size() == 3U);
  BOOST_TEST((settings.get()[0] == kGuarded));
  BOOST_TEST((settings.get()[1] == kGuarded), "in the task that it awaits");
  BOOST_TEST((settings.get()[2] == Setting{}), "after its guards have ended");
  for (const Setting& left : executor->left) BOOST_TEST((left == Setting{}));
  BOOST_TEST((Setting::here() == Setting{}));
}

// The guards of its starter may end before it.
BOOST_AUTO_TEST_CASE(a_task_takes_over_from_its_starter_only_whether_operations_are_recorded) {
  const auto there = std::make_shared<detail::TaskPlace>(place(std::make_shared<OtherThread>()));
  const Promise<int> awaited(there->home);
  std::optional<Future<Setting>> setting;
  {
    const NoGradGuard nothing_recorded;
    const AnomalyGuard checked(Anomaly::nan);
    const MathThreads threads(3);
    setting = setting_after(awaited.future()).start_in(there);
    BOOST_TEST((Setting::here() == kGuarded));
  }
  awaited.complete(1);
  BOOST_TEST((setting->get() == Setting{.records = false, .checks = false, .math_threads = 1}));
}

BOOST_AUTO_TEST_CASE(guards_of_a_task_that_cannot_go_on_leave_those_of_the_thread_that_ends_it) {
  const auto executor = std::make_shared<InlineExecutor>();
  const detail::TaskPlace here = place(executor);
  const Promise<int> awaited(here.home);
  const auto settings =
      guarded_settings_around(awaited.future(), {}).start_in(std::make_shared<detail::TaskPlace>(here));
  const NoGradGuard nothing_recorded;
  const AnomalyGuard checked(Anomaly::nan);
  const MathThreads threads(3);
  executor->is_full = true;
  awaited.complete(1);
  BOOST_TEST_REQUIRE(settings.ready());
  BOOST_TEST((Setting::here() == kGuarded));
}

BOOST_AUTO_TEST_CASE(guards_that_a_stream_holds_act_for_each_of_its_elements_and_nowhere_else) {
  const MathThreads one(1);
  const Scope nobody(nullptr);
  Stream<Setting> stream = guarded_settings(4);
  for (int element = 0; element < 4; ++element) {
    const auto read = [&] {
      BOOST_TEST((stream.next(nobody) == kGuarded), "element " << element);
      BOOST_TEST((Setting::here().records && !Setting::here().checks), "after element " << element);
    };
    element % 2 == 0 ? read() : std::thread(read).join();
  }
  BOOST_TEST((stream.next(nobody) == std::nullopt));
  BOOST_TEST((Setting::here() == Setting{}));
}

BOOST_AUTO_TEST_CASE(a_stream_that_fails_or_is_dropped_leaves_the_threads_guards) {
  const Scope nobody(nullptr);
  const MathThreads one(1);
  for (const bool throws : {false, true}) {
    Stream<Setting> stream = guarded_settings(1, throws);
    BOOST_TEST((stream.next(nobody) == kGuarded));
    const NoGradGuard nothing_recorded;
    const AnomalyGuard checked(Anomaly::nan);
    const MathThreads threads(3);
    if (throws) BOOST_CHECK_THROW(static_cast<void>(stream.next(nobody)), std::runtime_error);
    stream = {};
    BOOST_TEST((Setting::here() == kGuarded), "throws: " << throws);
  }
}

BOOST_AUTO_TEST_CASE(a_shape_in_braces_can_be_awaited_with) {
  const Tensor result = doubled_twice().start_in(std::make_shared<detail::TaskPlace>(place())).get();
  BOOST_TEST(result.shape() == (Shape{3, 2}));
  BOOST_TEST(same_bytes(result, full({3, 2}, 4.0)));
}

BOOST_AUTO_TEST_CASE(a_shape_in_braces_can_be_yielded_with) {
  const Scope nobody(nullptr);  // a stream that runs locally needs no node
  Stream<Tensor> stream = of_growing_shapes(2);
  std::vector<Tensor> elements;
  while (const std::optional<Tensor> element = stream.next(nobody)) elements.push_back(*element);
  BOOST_TEST_REQUIRE(elements.size() == 3U);
  BOOST_TEST(same_bytes(elements[0], scalar(1.F)));
  BOOST_TEST(same_bytes(elements[1], from_values({1.F, 1.F})));
  BOOST_TEST(same_bytes(elements[2], from_values({0.F, 1.F, 2.F, 3.F}, {2, 2})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
