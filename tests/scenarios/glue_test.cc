// Interactions between the rules: several threads, tasks, deadlines and deaths at once, on complete nodes.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/task.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"
#include "tests/support/hold.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

std::int64_t next(std::int64_t x) { return x + 1; }

/// An object whose tasks wait for another node, and for each other.
struct Tally {
  std::int64_t value = 0;

  Task<std::int64_t> add(Scope& scope, NodeName other, std::int64_t x) {
    value += co_await scope.rpc_async(other, &next, x - 1);
    co_return value;
  }
  Task<std::int64_t> add_twice(Scope& scope, NodeName other, std::int64_t x) {
    static_cast<void>(co_await add(scope, other, x));
    co_return co_await add(scope, other, x);
  }
  Task<std::int64_t> add_four_times(Scope& scope, NodeName other, std::int64_t x) {
    static_cast<void>(co_await add_twice(scope, other, x));
    const std::int64_t sum = co_await add_twice(scope, other, x);
    co_return sum + co_await scope.rpc_async(other, &next, -1);
  }
  [[nodiscard]] std::int64_t total() const { return value; }
};

/// Returns once this many callers are inside.
class Barrier {
 public:
  explicit Barrier(std::int64_t count) : missing_(count) {}

  void enter(Scope& scope) {
    std::unique_lock lock(mutex_);
    --missing_;
    changed_.notify_all();
    changed_.wait(lock, scope.stop_token(), [this] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t missing_;
};

/// Counts its encodings.
struct Heavy {
  std::int64_t value = 0;
  void block(Scope& scope) { hold(scope); }
  template <class Archive>
  void save(Archive& ar) const {
    encoded.fetch_add(1);
    ar(value);
  }
  template <class Archive>
  void load(Archive& ar) {
    ar(value);
  }
  static inline std::atomic<int> encoded{0};
};
Heavy make_heavy(std::int64_t value) { return {value}; }

std::atomic<int> served{0};
void count_me() { served.fetch_add(1); }

/// Answers when nobody waits for it any more.
Heavy make_late(Scope& scope) {
  count_me();
  hold(scope);
  return {1};
}

/// Ends when its caller is gone, and then returns a value of its own.
RRef<std::int64_t> keep_for_the_dead(Scope& scope) {
  hold(scope);
  return RRef<std::int64_t>(scope, 7);
}

/// Calls itself down the list; the last one waits.
void pass_down(Scope& scope, std::vector<std::string> nodes) {
  served.fetch_add(1);
  if (nodes.empty()) return hold(scope);
  const std::string to = nodes.front();
  nodes.erase(nodes.begin());
  scope.rpc_sync(to, &pass_down, nodes);
}

Variable twice(const Variable& x) { return mul(x, 2.0); }

FunctionRegistry functions() {
  return {{"next", &next},
          {"Tally", constructor<Tally>},
          {"Tally::add", &Tally::add},
          {"Tally::add_twice", &Tally::add_twice},
          {"Tally::add_four_times", &Tally::add_four_times},
          {"Tally::total", &Tally::total},
          {"Barrier", constructor<Barrier, std::int64_t>},
          {"Barrier::enter", &Barrier::enter},
          {"make_heavy", &make_heavy},
          {"make_late", &make_late},
          {"Heavy::block", &Heavy::block},
          {"count_me", &count_me},
          {"keep_for_the_dead", &keep_for_the_dead},
          {"pass_down", &pass_down},
          {"twice", &twice}};
}

/// Returns whether `reached` becomes true within 10 s.
template <class Reached>
bool comes_true(Reached reached) {
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (!reached()) {
    if (std::chrono::steady_clock::now() > due) return false;
    std::this_thread::yield();
  }
  return true;
}

struct ThreeServers {
  LocalCluster nodes{{"trainer", "ps0", "ps1", "ps2"},
                     functions(),
                     {.pool = {.threads = 4}}};  // a function that does not wait through us keeps its thread
  Node& trainer = nodes.node("trainer");
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(glue, ThreeServers)

BOOST_AUTO_TEST_CASE(a_task_that_awaits_tasks_of_its_own_object_keeps_the_object) {
  const RRef<Tally> tally = trainer.remote("ps0", constructor<Tally>);
  BOOST_TEST(tally.rpc_sync(trainer, &Tally::add_twice, "ps1", 3) == 6);
  BOOST_TEST(tally.rpc_sync(trainer, &Tally::add_four_times, "ps1", 1) == 10);  // 6 + 4 * 1
  std::vector<Future<std::int64_t>> sums;
  for (int i = 0; i < 20; ++i) sums.push_back(tally.rpc_async(trainer, &Tally::add_four_times, "ps1", 1));
  for (const auto& sum : sums) static_cast<void>(sum.get());
  BOOST_TEST(tally.rpc_sync(trainer, &Tally::total) == 90);  // 10 + 20 * 4
}

BOOST_AUTO_TEST_CASE(three_threads_may_run_backward_on_one_context_at_once) {
  constexpr int kPasses = 400;
  DistContext context(trainer);
  const Variable x(full({2}, 5.0), RequiresGrad::yes);
  const Variable y = sum(context.rpc_sync("ps0", &twice, x));
  std::atomic<int> failed{0};
  const auto run = [&] {
    for (int i = 0; i < kPasses; ++i) {
      try {
        backward(context, y);
      } catch (const RemoteError& error) {
        failed.fetch_add(1);
        BOOST_TEST_MESSAGE(error.what());
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(run);
  }
  BOOST_TEST(failed.load() == 0);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 2.0 * 3 * kPasses)));
}

BOOST_AUTO_TEST_CASE(a_fetch_that_timed_out_is_not_served) {
  const RRef<Heavy> heavy = trainer.remote("ps0", &make_heavy, 7);
  BOOST_TEST(heavy.to_here(trainer).value == 7);
  Heavy::encoded = 0;
  const Future<void> turn = heavy.rpc_async(trainer, &Heavy::block);
  const Scope hasty = trainer.with({.deadline = 20ms});
  std::vector<Future<Heavy>> late;
  for (int i = 0; i < 20; ++i) late.push_back(heavy.to_here_async(hasty));
  for (const auto& one : late) BOOST_TEST((error_of([&] { static_cast<void>(one.get()); }).code == ErrorCode::timeout));
  BOOST_TEST(comes_true([&] { return nodes.node("ps0").counts().served_calls == 1; }));  // the call that has the turn
  turn.cancel();
  BOOST_TEST(heavy.to_here(trainer).value == 7);
  BOOST_TEST(Heavy::encoded.load() == 1);
}

BOOST_AUTO_TEST_CASE(a_cancel_reaches_a_call_that_is_still_held) {
  detail::NodeCore& ps0 = nodes.node("ps0").core();
  const RRef<std::int64_t> value = trainer.remote("ps0", &next, 1);
  BOOST_TEST(value.to_here(trainer) == 2);
  served = 0;
  ps0.hold_calls();
  const Future<void> unwanted = trainer.rpc_async("ps0", &count_me);
  const Future<void> wanted = trainer.rpc_async("ps0", &count_me);
  BOOST_TEST(unwanted.cancel());
  BOOST_TEST(value.to_here(trainer) == 2);  // fetches are not delayed: the cancel has arrived by now
  ps0.release_calls();
  wanted.get();
  BOOST_TEST(trainer.rpc_sync("ps0", &next, 1) == 2);
  BOOST_TEST(comes_true([&] { return ps0.counts().served_calls == 0; }));
  BOOST_TEST(served.load() == 1);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_held_when_its_caller_dies_does_not_begin) {
  Node& ps1 = nodes.node("ps1");
  detail::NodeCore& ps0 = nodes.node("ps0").core();
  const RRef<std::int64_t> value = ps1.remote("ps0", &next, 1);
  BOOST_TEST(value.to_here(ps1) == 2);
  served = 0;
  ps0.hold_calls();
  const Future<void> from_the_dead = ps1.rpc_async("ps0", &count_me);
  const Future<Heavy> without_end = ps1.rpc_async("ps0", &make_late);
  const RRef<Heavy> new_value = ps1.remote("ps0", &make_heavy, 1);
  BOOST_TEST(value.to_here(ps1) == 2);  // fetches are not delayed: the calls have arrived by now
  const NodeLife caller{"ps1", ps1.core().incarnation()};
  nodes.kill("ps1");
  BOOST_TEST(comes_true([&] { return ps0.lives().is_over(caller); }));
  ps0.release_calls();
  BOOST_TEST(trainer.rpc_sync("ps0", &next, 1) == 2);
  BOOST_TEST(comes_true([&] { return ps0.counts().served_calls == 0 && ps0.counts().owned_values == 0; }));
  BOOST_TEST(served.load() == 0);
}

BOOST_AUTO_TEST_CASE(a_value_for_which_nobody_waits_any_more_is_not_encoded) {
  served = Heavy::encoded = 0;
  const Future<Heavy> cancelled = trainer.rpc_async("ps0", &make_late);
  BOOST_TEST(comes_true([&] { return served.load() == 1; }));
  BOOST_TEST(cancelled.cancel());
  BOOST_TEST(comes_true([&] { return nodes.node("ps0").counts().served_calls == 0; }));
  BOOST_TEST(Heavy::encoded.load() == 0);
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_local_value_ends_at_its_deadline_and_leaves_the_turn_to_others) {
  Node& ps0 = nodes.node("ps0");
  const RRef<Heavy> first(ps0, Heavy{1});
  const RRef<Heavy> second(ps0, Heavy{2});
  const Scope hasty = ps0.with({.deadline = 100ms});
  std::atomic<int> have_one{0};
  std::atomic<int> late{0};
  const auto take_both = [&](const RRef<Heavy>& one, const RRef<Heavy>& other) {
    const LocalValue<Heavy> mine = one.local_value(ps0);
    have_one.fetch_add(1);
    BOOST_TEST(comes_true([&] { return have_one.load() == 2; }));
    try {
      static_cast<void>(other.local_value(hasty));
    } catch (const RemoteError& error) {
      BOOST_TEST((error.code() == ErrorCode::timeout));
      late.fetch_add(1);
    }
  };
  {
    const std::jthread forward([&] { take_both(first, second); });
    const std::jthread backward([&] { take_both(second, first); });
  }
  BOOST_TEST(late.load() >= 1);  // the other call may have had its turn when that one gave up
  BOOST_TEST(first.local_value(ps0)->value == 1);
  BOOST_TEST(second.local_value(ps0)->value == 2);
}

BOOST_AUTO_TEST_CASE(functions_run_at_once_on_a_value_that_is_shared_so) {
  for (const char* owner : {"ps0", "trainer"}) {
    const Scope sharing = trainer.with({.sharing = Sharing::concurrent});
    const RRef<Barrier> barrier = sharing.remote(owner, constructor<Barrier, std::int64_t>, 3);
    std::vector<Future<void>> entered;
    for (int i = 0; i < 3; ++i) entered.push_back(barrier.rpc_async(trainer.with({.deadline = 10s}), &Barrier::enter));
    for (const auto& one : entered) BOOST_CHECK_NO_THROW(one.get());
  }
}

BOOST_AUTO_TEST_CASE(a_context_that_lives_is_not_taken_for_ended_however_many_came_and_went) {
  const auto pass = [&](const char* node) {
    DistContext context(trainer);
    BOOST_REQUIRE(context.rpc_sync(node, &next, 1) == 2);
  };
  ContextId oldest;
  {
    DistContext context(trainer);
    oldest = context.id();
    BOOST_TEST(context.rpc_sync("ps1", &next, 1) == 2);
  }
  DistContext lasting(trainer);
  BOOST_TEST(lasting.rpc_sync("ps0", &next, 1) == 2);
  for (int i = 0; i < 1030; ++i) {  // ps1 remembers 1,024 runs of ended contexts; each gap starts another run
    pass("ps1");
    pass("ps0");
  }
  BOOST_TEST(lasting.rpc_sync("ps1", &next, 1) == 2);
  const Variable x(full({2}, 5.0), RequiresGrad::yes);
  backward(lasting, sum(lasting.rpc_sync("ps1", &twice, x)));
  BOOST_TEST(same_bytes(lasting.grad(x), full({2}, 2.0)));

  // A late message re-creates a context that ps1 has forgotten. ps1 drops it after asking the creator.
  Node& ps1 = nodes.node("ps1");
  BOOST_TEST(comes_true([&] { return ps1.counts().contexts == 1; }));
  BOOST_TEST(!ps1.core().contexts().joined(oldest, "ps0"));
  BOOST_TEST(comes_true([&] { return ps1.counts().contexts == 1; }));
  BOOST_TEST(lasting.rpc_sync("ps1", &next, 1) == 2);
}

BOOST_AUTO_TEST_CASE(a_call_through_a_copy_of_an_ended_context_is_refused_and_names_it) {
  std::optional<Scope> late;
  std::optional<RRef<std::int64_t>> made;
  std::string id;
  {
    const DistContext ctx(trainer);
    late.emplace(static_cast<const Scope&>(ctx));
    made = ctx.remote("ps1", &next, 1);
    BOOST_TEST(made->to_here(ctx) == 2);
    id = ctx.id().text();
  }
  const Error of_call = error_of([&] { return late->rpc_sync("ps1", &next, 1); });
  const Error of_fetch = error_of([&] { return made->to_here(*late); });
  for (const Error& error : {of_call, of_fetch}) {
    BOOST_TEST((error.code == ErrorCode::context_aborted));
    BOOST_TEST(error.message == "context " + id + " does not exist or was released");
    BOOST_TEST(error.peer == "ps1");
    BOOST_TEST((error.execution == Execution::never));
  }
  BOOST_TEST(made->to_here(trainer) == 2);
}

BOOST_AUTO_TEST_CASE(a_death_below_nested_calls_reaches_the_first_caller_as_such) {
  served = 0;
  const auto call = trainer.rpc_async("ps0", &pass_down, std::vector<std::string>{"ps1", "ps2"});
  BOOST_TEST(comes_true([] { return served.load() == 3; }));
  nodes.kill("ps2");
  const Error error = error_of([&] { call.get(); });
  BOOST_TEST((error.code == ErrorCode::peer_down));
  BOOST_TEST(error.peer == "ps2");
  BOOST_TEST(error.operation == "rpc pass_down");
  BOOST_TEST((error.execution == Execution::yes));
  BOOST_TEST(error.cause.find("rpc pass_down on ps2: peer_down") == 0U);
  BOOST_TEST(error.message.ends_with(
                 ": ps1 had called it while it ran rpc pass_down for ps0, and ps0 rpc pass_down for trainer"),
             error.message);
}

BOOST_AUTO_TEST_CASE(a_graph_that_a_call_without_a_context_cut_off_fails_a_backward_and_says_where) {
  const Variable x(full({2}, 5.0), RequiresGrad::yes);
  const auto line = __LINE__ + 1;
  const Variable y = trainer.rpc_sync("ps0", &twice, x);
  BOOST_TEST(y.requires_grad());
  BOOST_CHECK_EXCEPTION(static_cast<void>(backward(sum(y))), BackwardError, [&](const BackwardError& error) {
    const std::string text = error.what();
    return text.find("\"twice\"") != std::string::npos &&
           text.find("glue_test.cc:" + std::to_string(line)) != std::string::npos;
  });
  const Variable w(full({2}, 3.0), RequiresGrad::yes);
  BOOST_TEST(same_bytes(backward(sum(mul(w, y.detach()))).of(w), full({2}, 10.0)));  // 2 * 5
  BOOST_TEST(!trainer.rpc_sync("ps0", &twice, x.detach()).requires_grad());
}

BOOST_AUTO_TEST_CASE(a_value_that_was_made_for_a_caller_that_is_gone_does_not_stay) {
  for (int i = 0; i < 20; ++i) {
    ThreeServers other;
    served = 0;
    const auto call = other.trainer.rpc_async("ps0", &keep_for_the_dead);
    BOOST_TEST(comes_true([&] { return other.nodes.node("ps0").counts().served_calls == 1; }));
    other.nodes.kill("trainer");
    BOOST_TEST(comes_true([&] { return other.nodes.node("ps0").counts().served_calls == 0; }));
    BOOST_TEST(comes_true([&] { return other.nodes.node("ps0").counts().owned_values == 0; }));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
