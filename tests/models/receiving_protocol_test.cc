// Proof of the role of receiving: no bell is left to a thread that has gone, over every order of the steps of threads
// and of processes that ring.
#include <boost/test/unit_test.hpp>

#include "tests/models/receiving_world.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(receiving_protocol)

ReceivingExploration prove(const ReceivingScript& script) {
  const ReceivingExploration seen = explore(script);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends; received by the own thread " << seen.by_own
                                 << ", by one that waits " << seen.by_waiter << ", by an idle one " << seen.by_idle);
  BOOST_TEST(seen.ends > 0U);
  return seen;
}

BOOST_AUTO_TEST_CASE(own_thread_reads_what_any_process_rings) {
  BOOST_TEST(prove({.ringers = 2, .rings_each = 2}).by_own > 0U);
}

BOOST_AUTO_TEST_CASE(thread_that_waits_receives_and_leaves_the_rest_to_the_own_one) {
  const auto seen = prove({.ringers = 2, .rings_each = 2, .waits = true});
  BOOST_TEST(seen.by_own > 0U);
  BOOST_TEST(seen.by_waiter > 0U);
}

BOOST_AUTO_TEST_CASE(wait_that_ends_at_its_deadline_takes_no_wake_up_along) {
  const auto seen = prove({.ringers = 2, .rings_each = 2, .waits = true, .has_deadline = true});
  BOOST_TEST(seen.by_own > 0U);
  BOOST_TEST(seen.by_waiter > 0U);
}

BOOST_AUTO_TEST_CASE(idle_thread_that_leaves_for_a_job_takes_no_wake_up_along) {
  const auto seen = prove({.ringers = 2, .idle_threads = 1, .job_from_message = true});
  BOOST_TEST(seen.by_own > 0U);
  BOOST_TEST(seen.by_idle > 0U);
}

BOOST_AUTO_TEST_CASE(jobs_from_elsewhere_end_the_receiving_of_an_idle_thread) {
  const auto seen = prove({.idle_threads = 2, .jobs_from_outside = 1});
  BOOST_TEST(seen.by_idle > 0U);
}

BOOST_AUTO_TEST_CASE(all_kinds_of_threads_together_read_everything) {
  const auto seen = prove({.ringers = 2, .waits = true, .idle_threads = 1, .job_from_message = true});
  BOOST_TEST(seen.by_own > 0U);
  BOOST_TEST(seen.by_waiter > 0U);
  BOOST_TEST(seen.by_idle > 0U);
}

BOOST_AUTO_TEST_CASE(process_that_dies_while_it_rings_holds_nobody_up_for_longer_than_a_sleep) {
  const auto seen = prove({.ringers = 2, .waits = true, .idle_threads = 1, .a_ringer_may_die = true});
  BOOST_TEST(seen.deaths > 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
