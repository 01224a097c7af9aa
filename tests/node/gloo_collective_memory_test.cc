// Members of a collective that get no memory.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "actors/core/wait_point.h"
#include "node/gloo_collective.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(gloo_collective_memory)

using namespace std::chrono_literals;

/// Returns "done", or what `sum` fails with: the code and the peer of a RemoteError.
template <class Sum>
std::string end_of(Sum sum) {
  try {
    static_cast<void>(sum());
  } catch (const RemoteError& error) {
    return std::string(name_of(error.error().code)) + " " + error.error().peer;
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  }
  return "done";
}

/// Runs an action in the first wait of its thread.
class InFirstWait final : public detail::BlockingHook {
 public:
  explicit InFirstWait(std::function<void()> action) : action_(std::move(action)) {}
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    if (action_) std::exchange(action_, nullptr)();
    return point.wait_here(due);
  }

 private:
  std::function<void()> action_;
};

// A message is delivered on the thread that sends it: from the first one on it is b that gets no memory.
BOOST_AUTO_TEST_CASE(operation_that_gets_no_memory_fails_on_every_member_with_the_name_of_that_one) {
  const Tensor value = ones({3});
  std::size_t n = 0;
  for (bool has_sent = false; !has_sent;) {
    LocalCluster cluster({"a", "b"}, {});
    const Scope scope_a = cluster.node("a").with({.deadline = 5s});
    const Scope scope_b = cluster.node("b").with({.deadline = 5s});
    auto forming = std::async(std::launch::async, [&] { return gloo_collective(scope_b, Group({"a", "b"})); });
    const auto at_a = gloo_collective(scope_a, Group({"a", "b"}));
    const auto at_b = forming.get();
    std::future<std::string> other;
    const auto begin_other = [&] {
      other = std::async(std::launch::async, [&] { return end_of([&] { return at_b->all_reduce(scope_b, value); }); });
    };
    std::string own;
    {
      std::optional<RefusedAllocation> refused(std::in_place, ++n);
      InFirstWait hook([&] {
        refused.reset();
        begin_other();
      });
      const detail::BlockingHook::Guard guard(hook);
      own = end_of([&] { return at_a->all_reduce(scope_a, value); });
    }
    if (!other.valid()) begin_other();
    const std::string others = other.get();
    has_sent = others == "resource_exhausted b";
    BOOST_TEST_CONTEXT("allocation " << n) {
      BOOST_TEST_REQUIRE((has_sent || others == "resource_exhausted a"), others);
      BOOST_TEST(own == others);
    }
  }
  BOOST_TEST(n > 20U);
}

// Names that do not fit into a string without memory; what says that an operation fails is refused, too.
BOOST_AUTO_TEST_CASE(operation_that_gets_no_memory_to_say_so_ends_on_every_member_all_the_same) {
  const NodeName a = "the-first-member-of-both";
  const NodeName b = "the-second-member-of-both";
  const Tensor value = ones({3});
  for (const std::size_t count : {2U, 3U}) {
    std::size_t n = 0;
    for (bool is_refused = true; is_refused;) {
      LocalCluster cluster({a, b}, {});
      const Scope scope_a = cluster.node(a).with({.deadline = 5s});
      const Scope scope_b = cluster.node(b).with({.deadline = 5s});
      auto forming = std::async(std::launch::async, [&] { return gloo_collective(scope_b, Group({a, b})); });
      const auto at_a = gloo_collective(scope_a, Group({a, b}));
      const auto at_b = forming.get();
      std::future<std::string> other;
      const auto begin_other = [&] {
        other =
            std::async(std::launch::async, [&] { return end_of([&] { return at_b->all_reduce(scope_b, value); }); });
      };
      bool is_done = false;
      {
        std::optional<RefusedAllocation> refused;
        InFirstWait hook([&] {
          is_refused = refused->happened();
          refused.reset();
          begin_other();
        });
        const detail::BlockingHook::Guard guard(hook);
        refused.emplace(++n, 0, count);
        try {
          static_cast<void>(at_a->all_reduce(scope_a, value));
          is_done = true;
        } catch (const std::exception&) {  // not described here, where there is no memory
        }
      }
      if (!other.valid()) begin_other();
      const std::string others = other.get();
      BOOST_TEST_CONTEXT("allocation " << n << " and " << count) {
        BOOST_TEST(is_done == (others == "done"));
        BOOST_TEST(!others.starts_with("timeout"), others);
      }
    }
    BOOST_TEST(n > 20U);
  }
}

BOOST_AUTO_TEST_CASE(operation_on_the_pool_that_gets_no_memory_takes_no_turn_or_fails_on_every_member) {
  const Tensor value = ones({3});
  std::size_t without_turn = 0;
  std::size_t failed = 0;
  std::size_t n = 0;
  for (bool is_refused = true; is_refused;) {
    LocalCluster cluster({"a", "b"}, {});
    const Scope scope_a = cluster.node("a").with({.deadline = 5s});
    const Scope scope_b = cluster.node("b").with({.deadline = 5s});
    auto forming = std::async(std::launch::async, [&] { return gloo_collective(scope_b, Group({"a", "b"})); });
    const auto at_a = gloo_collective(scope_a, Group({"a", "b"}));
    const auto at_b = forming.get();
    std::optional<Future<Tensor>> sum;
    {
      const RefusedAllocation refused(++n);
      try {
        sum = at_a->all_reduce_async(scope_a, value, ReduceOp::sum);
      } catch (const std::bad_alloc&) {
        ++without_turn;
      }
      is_refused = refused.happened();
    }
    auto other =
        std::async(std::launch::async, [&] { return end_of([&] { return at_b->all_reduce(scope_b, value); }); });
    const std::string own = end_of([&] { return sum ? sum->get() : at_a->all_reduce(scope_a, value); });
    const std::string others = other.get();
    BOOST_TEST_CONTEXT("allocation " << n) {
      BOOST_TEST((others == "done" || others.starts_with("resource_exhausted")), others);
      BOOST_TEST(own == others);
    }
    failed += others == "done" ? 0 : 1;
  }
  BOOST_TEST(without_turn > 1U);
  BOOST_TEST(failed > 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
