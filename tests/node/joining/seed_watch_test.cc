#include "node/joining/seed_watch.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// A node that watches its seed "p1" every second. What it submits is kept.
struct SeedWatchers : AmongBarePeers {
  SeedWatchers() {
    pool->keeps = true;
    detail::watch_seed(node->shared_state()->node, "p1", "memory://p1", 1s);
  }

  [[nodiscard]] std::ptrdiff_t looks() const {
    return std::ranges::count(pool->kept, "the seed is looked for", &Job::label);
  }

  /// Lets time pass. Returns after how many seconds the node has looked for its seed.
  std::vector<int> looks_within(int seconds) {
    std::vector<int> times;
    for (int second = 1; second <= seconds; ++second) {
      const std::ptrdiff_t before = looks();
      clock->advance(1s);
      if (looks() > before) times.push_back(second);
    }
    return times;
  }
};

BOOST_FIXTURE_TEST_SUITE(seed_watch, SeedWatchers)

BOOST_AUTO_TEST_CASE(a_seed_that_has_gone_is_looked_for_after_longer_and_longer_pauses) {
  const auto seed = peer("p1", 1);
  BOOST_TEST(looks_within(20).empty());
  seed->die();
  BOOST_TEST((looks_within(25) == std::vector<int>{1, 3, 7, 15, 23}));  // after 1, 2, 4, 8 and 8 more
}

// As one does that ends soon after each start.
BOOST_AUTO_TEST_CASE(a_seed_that_was_up_for_a_moment_is_looked_for_soon_again) {
  peer("p1", 1)->die();
  BOOST_TEST(looks_within(16).size() == 4U);
  for (std::uint64_t life = 2; life < 5; ++life) {
    const auto seed = peer("p1", life);
    BOOST_TEST(looks_within(2).empty());
    seed->die();
    BOOST_TEST((looks_within(4) == std::vector<int>{1, 3}));
  }
}

BOOST_AUTO_TEST_CASE(a_seed_is_met_at_its_address) {
  pool->keeps = false;
  BarePeer seed(hub, "p1", 1);
  clock->advance(1s);
  BOOST_TEST(seed.is_up("m"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
