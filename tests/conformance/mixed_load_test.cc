// All that Troupe does, at once, on several threads of one node.
#include "tests/conformance/mixed_load.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(mixed_load)

BOOST_AUTO_TEST_CASE(everything_at_once_gives_right_results_and_leaves_nothing) {
  constexpr int kThreads = 4;
  constexpr int kActivities = 120;
  constexpr std::int64_t kBytesMax = 4 << 20;
  TestCluster cluster({"p1", "p2", "p3"});
  MixedTally tally;
  std::atomic<int> begun = 0;
  run_mixed_load(cluster.trainer(), mixed_activities(kBytesMax), kThreads, 1, tally,
                 [&] { return begun.fetch_add(1) < kActivities; });
  for (const auto& [failure, times] : tally.failures()) BOOST_ERROR(times << " x " << failure);
  std::uint64_t done = 0;
  for (const auto& [activity, times] : tally.done()) done += times;
  BOOST_TEST(done == kActivities);
  cluster.expect_settled();
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
