// Proof of the RRef protocol: ForkTable and HandleTable together, over every order of events of small scripts.
#include <boost/test/unit_test.hpp>
#include <ostream>

#include "tests/models/rref_world.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(rref_protocol)

namespace {

using K = Step::Kind;

Exploration prove(const Script& script) {
  const Exploration seen = explore(script);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends, " << seen.revoked << " revoked, "
                                 << seen.early_deletes << " early deletes, " << seen.given_back << " given back, "
                                 << seen.overtaken << " overtaken, " << seen.before_creation << " before the creation");
  BOOST_TEST(seen.ends > 0U);
  return seen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_lives_until_its_creator_drops_it_and_a_delete_may_overtake_the_creation) {
  const auto seen = prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::drop}}}},
                           .duplicates = 1,
                           .creation_may_fail = true,
                           .crashable = "A"});
  BOOST_TEST(seen.early_deletes > 0U);
  BOOST_TEST(seen.overtaken > 0U);
}

BOOST_AUTO_TEST_CASE(a_user_hands_to_a_user_and_drops) {
  const auto seen =
      prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {}}}, .duplicates = 1});
  BOOST_TEST(seen.revoked == 0U);
  BOOST_TEST(seen.before_creation > 0U);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_forgotten_before_its_creation_is_made_anew) {
  for (const char* const crashable : {"", "A", "B"}) {
    const auto seen = prove({.programs = {{'O', {}},
                                          {'A', {{K::create}, {K::hand, 'B'}, {K::hand, 'B'}, {K::drop}}},
                                          {'B', {{K::drop}, {K::drop}}}},
                             .creation_may_fail = true,
                             .crashable = crashable});
    BOOST_TEST(seen.forgotten > 0U);
    BOOST_TEST(seen.before_creation > 0U);
  }
}

BOOST_AUTO_TEST_CASE(words_overtake_the_calls_that_carry_handles_of_the_same_value) {
  const auto seen = prove({.programs = {{'O', {{K::make}, {K::hand, 'A'}, {K::drop}}},
                                        {'A', {{K::hand, 'O'}, {K::hand, 'O'}, {K::drop}}}}});
  BOOST_TEST(seen.revoked == 0U);
  BOOST_TEST(seen.overtaken > 0U);
}

BOOST_AUTO_TEST_CASE(a_creating_call_times_out_after_its_handle_was_handed_on) {
  const auto seen = prove(
      {.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::hand, 'A'}, {K::drop}}}},
       .creation_may_fail = true,
       .crashable = "B"});
  BOOST_TEST(seen.early_deletes > 0U);
}

BOOST_AUTO_TEST_CASE(a_creating_call_never_leaves_after_its_handle_was_handed_on) {
  prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::hand, 'A'}, {K::drop}}}},
         .duplicates = 1,
         .creation_may_stay = true,
         .crashable = "B"});
}

BOOST_AUTO_TEST_CASE(a_newcomer_gets_handles_before_it_meets_the_owner_or_never_meets_it) {
  const Program twice_to_b{{K::create}, {K::hand, 'B'}, {K::hand, 'B'}, {K::drop}};
  const auto seen = prove({.programs = {{'O', {}}, {'A', twice_to_b}, {'B', {{K::hand, 'A'}, {K::drop}}}},
                           .crashable = "OAB",
                           .newcomer = 'B'});
  BOOST_TEST(seen.never_met > 0U);
  BOOST_TEST(seen.met_late > 0U);
  const auto whole =
      prove({.programs = {{'O', {}}, {'A', twice_to_b}, {'B', {{K::hand, 'A'}, {K::drop}}}}, .newcomer = 'B'});
  BOOST_TEST(whole.revoked == 0U);
}

BOOST_AUTO_TEST_CASE(a_newcomer_meets_the_owner_when_its_parent_has_lost_it) {
  prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {}}},
         .duplicates = 1,
         .cut = "OA",
         .newcomer = 'B'});
}

BOOST_AUTO_TEST_CASE(a_handle_goes_along_a_chain_of_three_users) {
  const auto seen = prove(
      {.programs = {
           {'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::hand, 'C'}, {K::drop}}}, {'C', {}}}});
  BOOST_TEST(seen.revoked == 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_comes_home_to_its_owner_and_leaves_again) {
  prove({.programs = {{'O', {{K::hand, 'B'}}}, {'A', {{K::create}, {K::hand, 'O'}, {K::drop}}}, {'B', {}}},
         .duplicates = 1});
}

BOOST_AUTO_TEST_CASE(the_owner_shares_a_value_of_its_own_with_two_users_who_exchange_it) {
  const auto seen = prove({.programs = {{'O', {{K::make}, {K::hand, 'A'}, {K::hand, 'B'}}},
                                        {'A', {{K::hand, 'B'}}},
                                        {'B', {{K::hand, 'A'}, {K::drop}}}}});
  BOOST_TEST(seen.given_back > 0U);
}

BOOST_AUTO_TEST_CASE(one_call_carries_two_forks_of_one_value) {
  const auto seen =
      prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand_two, 'B'}, {K::drop}}}, {'B', {}}}, .duplicates = 1});
  BOOST_TEST(seen.revoked == 0U);
}

BOOST_AUTO_TEST_CASE(a_node_calls_itself_with_a_handle) {
  prove({.programs = {{'O', {{K::make}, {K::hand, 'O'}, {K::hand, 'A'}}},
                      {'A', {{K::hand, 'A'}, {K::drop}, {K::hand, 'O'}}}},
         .duplicates = 1,
         .undone = 1,
         .crashable = "A"});
}

BOOST_AUTO_TEST_CASE(a_call_that_never_leaves_gives_its_forks_back) {
  const auto seen = prove({.programs = {{'O', {{K::make}, {K::hand, 'A'}, {K::drop}}},
                                        {'A', {{K::hand, 'B'}, {K::hand, 'O'}, {K::drop}}},
                                        {'B', {}}},
                           .duplicates = 1,
                           .undone = 2});
  BOOST_TEST(seen.revoked == 0U);
}

BOOST_AUTO_TEST_CASE(a_user_crashes_at_any_point_of_a_hand_over) {
  const auto seen = prove({.programs = {{'O', {}},
                                        {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}},
                                        {'B', {{K::hand, 'C'}, {K::drop}}},
                                        {'C', {}}},
                           .crashable = "AB"});
  BOOST_TEST(seen.revoked > 0U);
}

BOOST_AUTO_TEST_CASE(a_user_crashes_while_a_word_is_repeated) {
  const auto seen = prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::drop}}}},
                           .duplicates = 1,
                           .crashable = "AB"});
  BOOST_TEST(seen.revoked > 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_that_came_from_two_parents_survives_the_crash_of_one) {
  const auto seen = prove({.programs = {{'O', {{K::make}, {K::hand, 'A'}, {K::hand, 'C'}}},
                                        {'A', {{K::hand, 'B'}}},
                                        {'B', {}},
                                        {'C', {{K::hand, 'B'}, {K::drop}}}},
                           .crashable = "A"});
  BOOST_TEST(seen.given_back > 0U);
}

BOOST_AUTO_TEST_CASE(the_owner_crashes_at_any_point) {
  const auto seen =
      prove({.programs = {{'O', {{K::hand, 'B'}}}, {'A', {{K::create}, {K::hand, 'B'}, {K::hand, 'O'}}}, {'B', {}}},
             .crashable = "O"});
  BOOST_TEST(seen.owner_died > 0U);
}

BOOST_AUTO_TEST_CASE(a_user_loses_only_the_owner_and_its_parent_is_still_released) {
  prove({.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::hand, 'C'}}}, {'C', {}}},
         .cut = "OB"});
}

BOOST_AUTO_TEST_CASE(two_users_lose_each_other_in_the_middle_of_a_hand_over) {
  const auto seen = prove(
      {.programs = {{'O', {}}, {'A', {{K::create}, {K::hand, 'B'}, {K::drop}}}, {'B', {{K::hand, 'C'}}}, {'C', {}}},
       .cut = "AB"});
  BOOST_TEST(seen.revoked > 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
