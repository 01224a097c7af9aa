// The signals to each process: all orders of ends, interrupts and deadlines, without real processes.
#include "node/launch/supervision.h"

#include <signal.h>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace troupe;
using namespace std::chrono_literals;

namespace troupe {
std::ostream& operator<<(std::ostream& out, const SignalOrder& order) {
  return out << "node " << order.node << " signal " << order.signal;
}
}  // namespace troupe

BOOST_AUTO_TEST_SUITE(supervision)

namespace {

const ExitStatus kSuccess{0};
const ExitStatus kStatus3{3 << 8};
const ExitStatus kKilled{SIGKILL};
const SupervisionTime kStart{};

/// Three nodes with 900 ms to stop: each has a share of 300 ms.
Supervision three(OnExit last = OnExit::stop_all) {
  return Supervision({OnExit::stop_all, OnExit::stop_all, last}, 900ms);
}

void check_orders(const SignalOrders& found, const SignalOrders& wanted) {
  BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), wanted.begin(), wanted.end());
}

}  // namespace

BOOST_AUTO_TEST_CASE(success_of_all_ends_with_status_0_and_no_signal) {
  Supervision rules = three();
  for (const std::size_t node : {1u, 0u, 2u}) check_orders(rules.on_exit(node, kSuccess, kStart), {});
  BOOST_TEST(rules.finished());
  BOOST_TEST(rules.status() == 0);
  BOOST_TEST(!rules.first_failure());
}

BOOST_AUTO_TEST_CASE(a_failure_stops_the_others_from_last_to_first_each_after_the_next_has_ended) {
  Supervision rules = three();
  check_orders(rules.on_exit(1, kStatus3, kStart), {{2, SIGTERM}});
  check_orders(rules.on_exit(2, ExitStatus{SIGTERM}, kStart + 1ms), {{0, SIGTERM}});
  check_orders(rules.on_exit(0, ExitStatus{SIGTERM}, kStart + 2ms), {});
  BOOST_TEST(rules.finished());
  BOOST_TEST(rules.first_failure()->node == 1u);
  BOOST_TEST(rules.status() == 3);
}

BOOST_AUTO_TEST_CASE(the_status_of_a_killed_node_is_128_and_the_signal) {
  Supervision rules = three();
  (void)rules.on_exit(0, kKilled, kStart);
  BOOST_TEST(rules.status() == 137);
  BOOST_TEST(rules.first_failure()->status.text() == "killed by signal 9 (SIGKILL)");
  BOOST_TEST(kStatus3.text() == "exit status 3");
  BOOST_TEST(ExitStatus{SIGSYS}.text() == "killed by signal 31 (SIGSYS: it did what it may not, see node.confined)");
}

BOOST_AUTO_TEST_CASE(a_slow_node_delays_the_next_by_its_share_and_is_killed_at_its_deadline) {
  Supervision rules = three();
  check_orders(rules.on_interrupt(SIGINT, kStart), {{2, SIGTERM}});
  BOOST_CHECK(rules.next_time() == kStart + 300ms);
  check_orders(rules.on_time(kStart + 299ms), {});
  check_orders(rules.on_time(kStart + 300ms), {{1, SIGTERM}});
  check_orders(rules.on_exit(1, kSuccess, kStart + 400ms), {{0, SIGTERM}});  // node 2 has used its share, too
  check_orders(rules.on_exit(0, kSuccess, kStart + 500ms), {});
  check_orders(rules.on_time(kStart + 900ms), {{2, SIGKILL}});
}

BOOST_AUTO_TEST_CASE(nodes_that_ignore_the_wish_are_killed_each_at_its_own_deadline) {
  Supervision rules = three();
  check_orders(rules.on_interrupt(SIGINT, kStart), {{2, SIGTERM}});
  check_orders(rules.on_time(kStart + 300ms), {{1, SIGTERM}});
  check_orders(rules.on_time(kStart + 600ms), {{0, SIGTERM}});
  BOOST_CHECK(rules.next_time() == kStart + 900ms);
  check_orders(rules.on_time(kStart + 900ms), {{2, SIGKILL}});
  check_orders(rules.on_time(kStart + 1500ms), {{1, SIGKILL}, {0, SIGKILL}});
  BOOST_TEST(!rules.next_time());
  for (const std::size_t node : {0u, 1u, 2u}) (void)rules.on_exit(node, kKilled, kStart + 1501ms);
  BOOST_TEST(rules.finished());
  BOOST_TEST(!rules.first_failure());
  BOOST_TEST(rules.status() == 130);
}

BOOST_AUTO_TEST_CASE(a_second_interrupt_kills_at_once) {
  Supervision rules = three();
  check_orders(rules.on_interrupt(SIGINT, kStart), {{2, SIGTERM}});
  check_orders(rules.on_interrupt(SIGINT, kStart + 1ms), {{2, SIGKILL}, {1, SIGKILL}, {0, SIGKILL}});
  check_orders(rules.on_interrupt(SIGINT, kStart + 2ms), {});
  BOOST_TEST(rules.status() == 130);
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_stopping_for_a_failure_keeps_the_failure) {
  Supervision rules = three();
  (void)rules.on_exit(0, kStatus3, kStart);
  check_orders(rules.on_interrupt(SIGTERM, kStart), {});  // node 2 already got its signal
  check_orders(rules.on_interrupt(SIGTERM, kStart), {{2, SIGKILL}, {1, SIGKILL}});
  BOOST_TEST(rules.status() == 3);
}

BOOST_AUTO_TEST_CASE(others_go_on_after_a_node_that_may_fail_and_the_run_still_fails) {
  Supervision rules = three(OnExit::keep_going);
  check_orders(rules.on_exit(2, kKilled, kStart), {});
  BOOST_TEST(!rules.stopping());
  check_orders(rules.on_exit(1, kSuccess, kStart), {});
  check_orders(rules.on_exit(0, kSuccess, kStart), {});
  BOOST_TEST(rules.finished());
  BOOST_TEST(rules.status() == 137);
  BOOST_TEST(rules.first_failure()->node == 2u);
}

BOOST_AUTO_TEST_CASE(a_node_that_was_told_to_stop_does_not_fail) {
  Supervision rules = three();
  (void)rules.on_interrupt(SIGINT, kStart);
  (void)rules.on_exit(2, kStatus3, kStart);
  BOOST_TEST(!rules.first_failure());
}

const ExitStatus kCrashed{SIGSEGV};

BOOST_AUTO_TEST_CASE(a_crash_before_its_host_knew_of_the_stop_is_the_cause_of_the_failure_that_stopped_nodes) {
  Supervision rules = three();
  check_orders(rules.on_exit(1, kStatus3, kStart), {{2, SIGTERM}});
  check_orders(rules.on_exit(2, kCrashed, kStart + 1ms, BeforeStop::yes), {{0, SIGTERM}});
  BOOST_TEST(!rules.was_told(2));
  BOOST_TEST(rules.first_failure()->node == 2u);
  check_orders(rules.on_exit(0, kCrashed, kStart + 2ms, BeforeStop::yes), {});
  BOOST_TEST(rules.status() == 128 + SIGSEGV);
  BOOST_TEST(rules.first_failure()->node == 2u);
}

BOOST_AUTO_TEST_CASE(a_crash_or_status_that_follows_is_no_cause) {
  Supervision rules = three();
  (void)rules.on_exit(1, kStatus3, kStart);
  (void)rules.on_exit(2, kCrashed, kStart + 1ms, BeforeStop::no);  // it was told, and its host knew
  BOOST_TEST(rules.was_told(2));
  (void)rules.on_exit(0, kStatus3, kStart + 2ms, BeforeStop::yes);
  BOOST_TEST(!rules.was_told(0));
  BOOST_TEST(rules.first_failure()->node == 1u);
}

BOOST_AUTO_TEST_CASE(an_earlier_failure_that_stopped_nothing_stays_the_first) {
  Supervision rules = three(OnExit::keep_going);
  (void)rules.on_exit(2, kStatus3, kStart, BeforeStop::yes);
  BOOST_TEST(!rules.stopping());
  (void)rules.on_exit(1, kStatus3, kStart + 1s, BeforeStop::yes);
  (void)rules.on_exit(0, kCrashed, kStart + 2s, BeforeStop::yes);
  BOOST_TEST(rules.first_failure()->node == 2u);
}

BOOST_AUTO_TEST_CASE(a_crash_that_follows_from_the_loss_of_a_host_is_no_cause) {
  Supervision rules = three();
  (void)rules.on_exit(1, ExitStatus::lost_with_host(), kStart);
  (void)rules.on_exit(2, kCrashed, kStart + 1ms, BeforeStop::yes);
  BOOST_TEST(rules.first_failure()->node == 1u);
}

BOOST_AUTO_TEST_CASE(a_crash_before_its_host_knew_of_an_interrupt_counts) {
  Supervision rules = three();
  (void)rules.on_interrupt(SIGINT, kStart);
  (void)rules.on_exit(2, kStatus3, kStart + 1ms, BeforeStop::no);
  BOOST_TEST(!rules.first_failure());
  (void)rules.on_exit(1, kCrashed, kStart + 2ms, BeforeStop::yes);
  BOOST_TEST(rules.status() == 128 + SIGSEGV);
}

BOOST_AUTO_TEST_SUITE_END()
