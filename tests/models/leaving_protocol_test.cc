// Proof of the joint shutdown: a ShutdownAgreement on each member, over every order of events of small scripts.
#include <boost/test/unit_test.hpp>

#include "tests/models/leaving_world.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(leaving_protocol)

LeavingExploration prove(const LeavingScript& script) {
  const LeavingExploration seen = explore(script);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends, " << seen.agreements << " agreements, "
                                 << seen.taken_over << " taken over, " << seen.overtaken << " overtaken, "
                                 << seen.idle_in_vain << " idle in vain, " << seen.late_counts << " late counts");
  BOOST_TEST(seen.ends > 0U);
  BOOST_TEST(seen.agreements > 0U);
  return seen;
}

BOOST_AUTO_TEST_CASE(members_agree_when_the_last_call_has_ended_whatever_overtakes_it) {
  const auto waiting = prove({.members = "ab", .works = {{"aba"}}});
  BOOST_TEST(waiting.overtaken > 0U);
  const auto relayed = prove({.members = "ab", .works = {{"abab", false}}});
  BOOST_TEST(relayed.overtaken > 0U);
  BOOST_TEST(relayed.idle_in_vain > 0U);
  prove({.members = "abc", .works = {{"bca", false}}, .rounds_max = 2});
}

BOOST_AUTO_TEST_CASE(death_of_any_member_keeps_nobody_and_hides_no_work, *boost::unit_test::label("fault-F22")) {
  const auto first = prove({.members = "abc", .works = {{"bc"}}, .crashable = "a", .rounds_max = 2});
  BOOST_TEST(first.taken_over > 0U);
  // Requests of crashed members stand for requests made between two rounds.
  const auto other =
      prove({.members = "abc", .works = {{"baba", false}}, .crashable = "c", .have_called = "cc", .rounds_max = 2});
  BOOST_TEST(other.idle_in_vain > 0U);
}

BOOST_AUTO_TEST_CASE(member_that_comes_while_the_others_are_counted_is_counted_too) {
  const auto newcomer = prove({.members = "ab", .newcomer = "c"});
  BOOST_TEST(newcomer.late_counts > 0U);
  prove({.members = "bc", .newcomer = "a"});
  prove({.members = "ab", .works = {{"ab"}}, .newcomer = "c", .rounds_max = 1});
}

BOOST_AUTO_TEST_CASE(member_that_dies_and_comes_back_is_counted_again, *boost::unit_test::label("fault-F22")) {
  prove({.members = "ab", .crashable = "ab", .returns = true});
  prove({.members = "abc", .crashable = "c", .returns = true, .rounds_max = 1});
}

BOOST_AUTO_TEST_CASE(member_that_refuses_to_count_is_asked_until_it_has) {
  prove({.members = "ab", .works = {{"aba"}}, .refusals = 2, .rounds_max = 2});
  prove({.members = "ab", .crashable = "b", .newcomer = "c", .refusals = 1, .rounds_max = 1});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
