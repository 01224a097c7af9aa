// Complete nodes that join, leave and return while all their parts are at work: many short worlds.
// TROUPE_SIM_SEEDS=3000 runs that many, TROUPE_SIM_SEED=42 runs that one.
#include <boost/test/unit_test.hpp>

#include "tests/scenarios/glue_world.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {

BOOST_AUTO_TEST_SUITE(sim_glue)

BOOST_AUTO_TEST_CASE(nodes_that_come_and_go_at_any_time_hang_nobody_and_leave_nothing,
                     *boost::unit_test::label("fault-F15") * boost::unit_test::label("fault-F22") *
                         boost::unit_test::label("fault-F27")) {
  GlueSeen seen;
  for (const std::uint64_t seed : seeds(300)) play_glue(seed, seen);
  BOOST_TEST_MESSAGE(seen.steps << " steps, " << seen.lives << " lives, " << seen.killed << " killed, "
                                << seen.killed_leaving << " of them leaving, " << seen.stopped << " stopped, "
                                << seen.came_back << " came back, " << seen.refused << " refused, " << seen.too_late
                                << " too late, " << seen.reordered << " reordered, " << seen.gradients << " gradients, "
                                << seen.steps_taken << " steps taken, " << seen.undisturbed << " undisturbed");
  for (const auto& [end, count] : seen.ends) BOOST_TEST_MESSAGE(end << ": " << count);
  if (seen.lives < 1000) return;  // a few seeds need not cover every case
  BOOST_TEST(seen.killed > 100U);
  BOOST_TEST(seen.killed_leaving > 50U);
  BOOST_TEST(seen.undisturbed > 1000U);
  BOOST_TEST(seen.stopped > 50U);
  BOOST_TEST(seen.came_back > 50U);
  BOOST_TEST(seen.too_late > 0U);
  BOOST_TEST(seen.reordered > 1000U);
  BOOST_TEST(seen.gradients > 100U);
  BOOST_TEST(seen.steps_taken > 100U);
  for (const char* end : {"cancelled", "context_aborted", "owner_died", "peer_down", "peer_restarted", "shutting_down",
                          "step_not_applied", "step_unknown"}) {
    BOOST_TEST(seen.ends[end] > 0U, end);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
