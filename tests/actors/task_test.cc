// Coroutines whose expressions hold temporaries. GCC 12 does not compile the array of a std::initializer_list in a
// coroutine that waits; shapes in braces use none (tensor/shape.h).
#include "actors/task.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "actors/scope.h"
#include "actors/stream.h"
#include "tensor/create.h"
#include "tensor/ops.h"

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

Task<Tensor> doubled(Tensor x) { co_return x * 2.0; }

Task<Tensor> doubled_twice() {
  const Tensor once = co_await doubled(ones({2, 3}));
  co_return reshape(once, {3, 2}) + co_await doubled(ones({3, 2}));
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
