// Proof of the turns of a value: a TurnQueue and its callers, over every order of events of small scripts.
#include <boost/test/unit_test.hpp>

#include "tests/models/turn_world.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(turn_protocol)

TurnExploration prove(const TurnScript& script) {
  const TurnExploration seen = explore(script);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends, " << seen.early_cancels << " early cancels, "
                                 << seen.overtaken << " overtaken, " << seen.went_on_first << " went on first, "
                                 << seen.given_up << " given up");
  BOOST_TEST(seen.ends > 0U);
  return seen;
}

BOOST_AUTO_TEST_CASE(uses_of_each_caller_begin_in_order_whatever_overtakes_what) {
  const auto seen = prove({.uses = {{'A', "."}, {'A', ""}, {'B', "."}, {'B', ""}, {'C', ""}}, .value_is_late = true});
  BOOST_TEST(seen.overtaken > 0U);
  BOOST_TEST(seen.went_on_first > 0U);
  BOOST_TEST(seen.given_up == 0U);
}

BOOST_AUTO_TEST_CASE(use_that_is_cancelled_before_or_after_it_came_leaves_the_turn_to_others) {
  const auto seen =
      prove({.uses = {{'A', ".", true}, {'A', "", true}, {'B', "..", true}, {'B', "."}}, .value_is_late = true});
  BOOST_TEST(seen.early_cancels > 0U);
  BOOST_TEST(seen.given_up > 0U);
}

BOOST_AUTO_TEST_CASE(calls_back_into_the_value_end_whatever_waits_there) {
  const auto seen = prove({.uses = {{'A', "B"}, {'B', "A"}, {'A', "."}, {'C', "B"}}});
  BOOST_TEST(seen.overtaken > 0U);
  BOOST_TEST(seen.went_on_first > 0U);
}

BOOST_AUTO_TEST_CASE(caller_that_dies_at_any_point_leaves_the_turn_to_others) {
  const auto seen =
      prove({.uses = {{'A', "B"}, {'B', ".", true}, {'B', ""}, {'A', "."}}, .value_is_late = true, .crashable = "AB"});
  BOOST_TEST(seen.early_cancels > 0U);
  BOOST_TEST(seen.given_up > 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
