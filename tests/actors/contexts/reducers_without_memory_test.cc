#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/contexts/context_participant.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(reducers_without_memory)

namespace {

constexpr const char* kLongName = "a_trainer_with_a_name_that_needs_memory";

/// Changes no gradients, and counts what it is told. As others do, it keeps the Error.
class Told final : public detail::GradientReducer {
 public:
  void begin(const PassId&) override { ++begun; }
  void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override {}
  void finish(const PassId&, Gradients gradients, Done done) override { done(std::move(gradients)); }
  void fail(const PassId&, const Error& why) override {
    cause = why;
    ++ended;
  }
  void complete(const PassId&) override { ++ended; }

  int begun = 0;
  int ended = 0;
  std::optional<Error> cause;
};

struct NoPeers final : GradientSink {
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
  void found(const Variable&, const Tensor&, const SparseTensor&) override {}
};

/// A node without peers. Its pool and its reducers work when they are told to.
class Alone final : public detail::ContextParticipant::Callbacks {
 public:
  Alone() {
    for (const auto& reducer : reducers) part.attach(reducer);
  }

  void begin() {
    detail::PassPlan plan;
    plan.roots.local = {root};
    part.begin(pass, std::move(plan), std::nullopt, [this](const Result<Unit>&) { return ++answers == 1; });
  }
  void run_work() const {
    NoPeers sink;
    work->run(sink);
  }
  /// The pool returns the work, and all reducers finish.
  void end_work() {
    part.pool_done(std::exchange(work, nullptr));
    while (reduced_) part.reduced(pass, *std::exchange(reduced_, std::nullopt));
  }

  void send_mark(const NodeName&, const std::optional<Incarnation>&, std::uint64_t, msg::BackwardMark,
                 std::optional<TimePoint>) override {}
  void send_release(const NodeName&, msg::BackwardRelease, std::optional<TimePoint>) override {}
  void notify(const NodeName&, msg::AnyMessage) override {}
  void find_roots(const PassId&, std::vector<RRefId>) override {}
  void run_on_pool(std::shared_ptr<detail::GraphWork> given) override { work = std::move(given); }
  void reduce(const PassId&, const std::shared_ptr<detail::GradientReducer>&, Gradients gradients) override {
    reduced_ = std::move(gradients);
  }
  void refused(const Error&) override {}
  void wake_at(const PassId&, TimePoint) override {}
  void pass_ended(const PassId&) override {}

  const PassId pass{kLongName, 7, 6};
  const Variable w{ones({1}), RequiresGrad::yes};
  const Variable root = sum(mul(w, w));
  const std::array<std::shared_ptr<Told>, 3> reducers{std::make_shared<Told>(), std::make_shared<Told>(),
                                                      std::make_shared<Told>()};
  detail::ContextParticipant part{{kLongName, 7, 5}, kLongName, *this};
  std::shared_ptr<detail::GraphWork> work;
  int answers = 0;

 private:
  std::optional<Gradients> reduced_;
};

/// What happens to a pass while an allocation is refused.
enum class Event : std::uint8_t { begins, is_cancelled, is_aborted, succeeds };

void happen(Event event, Alone& node, const Error& why) {
  switch (event) {
    case Event::begins: return node.begin();
    case Event::is_cancelled: return node.part.pass_cancelled(node.pass);
    case Event::is_aborted: return node.part.abort(why, kLongName);
    case Event::succeeds: return node.end_work();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(reducers_that_have_begun_hear_once_how_their_pass_ended_without_memory) {
  Error why;
  why.code = ErrorCode::context_aborted;
  why.message = "a text that is longer than what a string keeps in itself";
  std::size_t threw = 0;
  for (const Event event : {Event::begins, Event::is_cancelled, Event::is_aborted, Event::succeeds}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      Alone node;
      if (event != Event::begins) node.begin();
      if (event == Event::succeeds) node.run_work();
      bool is_over = event != Event::begins;
      {
        const RefusedAllocation refused(n);
        try {
          happen(event, node, why);
        } catch (const std::bad_alloc&) {
          is_over = false;
          ++threw;
        }
        is_refused = refused.happened();
      }
      if (!is_over) {  // as ContextState::fail
        node.part.abort(why, kLongName);
        node.part.stop(why);
      }
      for (const auto& reducer : node.reducers) {
        BOOST_TEST(reducer->ended == reducer->begun, "event " << static_cast<int>(event) << ", allocation " << n << ": "
                                                              << reducer->ended << " of " << reducer->begun);
      }
      BOOST_TEST(node.answers <= 1);
      BOOST_TEST(node.part.pass_count() == 0U);
    }
  }
  BOOST_TEST(threw > 20U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
