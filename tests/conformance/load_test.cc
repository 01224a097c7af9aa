// Very many calls on small pools: nested in each other, and all in progress at once.
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(load)

using boost::unit_test::label;

constexpr std::int64_t kCalls = 10'000;

BOOST_AUTO_TEST_CASE(thousand_nested_calls_that_block_need_a_pool_of_four, *label("fault-F38")) {
  TestCluster cluster({"p1"}, {.threads = 4});
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &ping_pong, "trainer", 1'000) == 1'000);
}

BOOST_AUTO_TEST_CASE(thousand_nested_coroutines_need_four_threads, *label("fault-F38")) {
  TestCluster cluster({"p1"}, {.threads = 4, .threads_max = 4});
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &ping_pong_task, "trainer", 1'000) == 1'000);
}

BOOST_AUTO_TEST_CASE(nested_calls_beyond_the_largest_pool_fail_at_once_and_leave_nothing) {
  TestCluster cluster({"p1"}, {.threads = 4, .threads_max = 50});
  Node& trainer = cluster.trainer();
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &ping_pong, "trainer", 1'000); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.cause.find("resource_exhausted") != std::string::npos, error.text());
  BOOST_TEST(trainer.rpc_sync("p1", &ping_pong, "trainer", 50) == 50);
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(ten_thousand_calls_under_way_in_each_direction_at_once_all_end) {
  TestCluster cluster({"p1"}, {.threads = 4});
  Node& trainer = cluster.trainer();
  {
    // The gate answers no call before one more arrives, so all calls are in progress.
    const auto there = trainer.remote("p1", constructor<Gate, std::int64_t>, kCalls + 1);
    const auto here = trainer.remote("trainer", constructor<Gate, std::int64_t>, kCalls + 1);
    const auto theirs = trainer.rpc_async("p1", &arrive_often, here, kCalls);
    std::vector<Future<std::int64_t>> ours;
    for (std::int64_t i = 0; i < kCalls; ++i) ours.push_back(there.rpc_async(trainer, &Gate::arrive));
    cluster.await("p1", [](const Counts& counts) { return counts.pending_requests == kCalls; });
    BOOST_TEST(trainer.counts().pending_requests == kCalls + 1);  // `theirs` among them
    BOOST_TEST(there.rpc_sync(trainer, &Gate::arrive) == kCalls + 1);
    BOOST_TEST(here.rpc_sync(trainer, &Gate::arrive) == kCalls + 1);
    BOOST_TEST(theirs.get() == kCalls + 1);
    std::int64_t wrong = 0;
    for (const Future<std::int64_t>& arrival : ours) wrong += arrival.get() == kCalls + 1 ? 0 : 1;
    BOOST_TEST(wrong == 0);
  }
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(ten_thousand_calls_in_each_direction_all_get_their_own_answers) {
  TestCluster cluster({"p1"}, {.threads = 4});
  Scope scope = cluster.trainer();
  const auto theirs = scope.rpc_async("p1", &square_often, "trainer", kCalls);
  BOOST_TEST(square_often(scope, "p1", kCalls) == kCalls);
  BOOST_TEST(theirs.get() == kCalls);
  cluster.expect_settled();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
