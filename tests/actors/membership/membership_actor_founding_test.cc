// A node that starts again: it founds a cluster, or joins the one that its former life has founded. Whoever lets others
// in later keeps to its rules.
#include "actors/membership/membership.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/membership/members.h"
#include "tests/support/meanwhile.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

std::string failure_of(const std::optional<Error>& error) {
  return error ? std::string(name_of(error->code)) + " " + error->message : "nothing";
}

BOOST_FIXTURE_TEST_SUITE(membership_founding, Newcomer)

BOOST_AUTO_TEST_CASE(who_may_have_founded_before_founds_when_all_others_want_to_join) {
  membership().found_unless_in({0, "trainer", 3}, 3);
  const auto first = peer("p1");
  const auto second = peer("p2");
  const Asked of_first = first->ask("m", "membership", join_of(*first, 1, 3));
  BOOST_TEST(outcome(of_first) == "waits");
  BOOST_TEST(failure_of(missing(3)).find("timeout 3 of 3 nodes are there") == 0U);  // nobody is in yet
  const Asked of_second = second->ask("m", "membership", join_of(*second, 2, 3));
  BOOST_TEST(outcome(of_first) == "m:0 p1:1 p2:2");
  BOOST_TEST(outcome(of_second) == "m:0 p1:1 p2:2");
  BOOST_TEST(failure_of(missing(3)) == "nothing");
}

BOOST_AUTO_TEST_CASE(who_wanted_to_join_and_has_gone_is_not_counted) {
  membership().found_unless_in({0, "trainer", 3}, 3);
  const auto gone = peer("p1", 1);
  const Asked of_gone = gone->ask("m", "membership", join_of(*gone, 1, 3));
  BOOST_TEST(outcome(of_gone) == "waits");
  gone->die();
  const auto second = peer("p2", 2);
  const Asked of_second = second->ask("m", "membership", join_of(*second, 2, 3));
  BOOST_TEST(outcome(of_second) == "waits");
  const auto again = peer("p1", 3);
  BOOST_TEST(outcome(again->ask("m", "membership", join_of(*again, 1, 3))) == "m:0 p1:1 p2:2");
  BOOST_TEST(outcome(of_second) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(who_asks_twice_is_one_newcomer) {
  membership().found_unless_in({0, "trainer", 3}, 3);
  const auto first = peer("p1");
  const Asked once = first->ask("m", "membership", join_of(*first, 1, 3));
  const Asked twice = first->ask("m", "membership", join_of(*first, 1, 3));
  BOOST_TEST(outcome(once) == "protocol_violation p1 has asked again");
  BOOST_TEST(outcome(twice) == "waits");
  const auto second = peer("p2");
  static_cast<void>(second->ask("m", "membership", join_of(*second, 2, 3)));
  BOOST_TEST(outcome(twice) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(who_has_founded_before_joins_the_cluster_that_lives_on) {
  membership().found_unless_in({0, "trainer", 3}, 3);
  const auto newcomer = peer("p2", 2);
  const Asked early = newcomer->ask("m", "membership", join_of(*newcomer, 2, 3));
  BarePeer living(hub, "p1", 1);
  living.connect("m");
  BOOST_TEST(living.take<msg::MemberJoin>().empty());  // it may want to join, too
  living.say("m", "membership", msg::MemberJoined{4, place_of(living, 1, 2)});
  const auto asked = living.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(asked[0].message.get<msg::MemberJoin>().name == "m");
  BOOST_TEST(outcome(early) == "waits");
  living.answer("m", asked[0], msg::MemberList{5, {place_of(living, 1, 2), own_place(0, 5)}});
  const auto passed_on = living.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(passed_on.size() == 1U);
  BOOST_TEST(passed_on[0].message.get<msg::MemberJoin>().name == "p2");
  living.answer("m", passed_on[0],
                msg::MemberList{6, {place_of(living, 1, 2), own_place(0, 5), place_of(*newcomer, 2, 6)}});
  BOOST_TEST(outcome(early) == "p1:1 m:0 p2:2");
  living.say("m", "membership", msg::MemberJoined{6, place_of(*newcomer, 2, 6)});
  BOOST_TEST(failure_of(missing(3)) == "nothing");
}

BOOST_AUTO_TEST_CASE(when_the_one_that_is_in_dies_before_it_answers_another_is_asked) {
  membership().found_unless_in({0, "trainer", 3}, 3);
  BarePeer dying(hub, "p1", 1);
  BarePeer living(hub, "p2", 2);
  dying.connect("m");
  living.connect("m");
  dying.say("m", "membership", msg::MemberJoined{3, place_of(dying, 1, 2)});
  living.say("m", "membership", msg::MemberJoined{3, place_of(living, 2, 3)});
  BOOST_TEST(dying.take<msg::MemberJoin>().size() == 1U);
  BOOST_TEST(living.take<msg::MemberJoin>().empty());
  dying.die();
  const auto asked = living.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  living.answer("m", asked[0], msg::MemberList{4, {place_of(living, 2, 3), own_place(0, 4)}});
  BOOST_TEST(failure_of(missing(2)) == "nothing");
  BOOST_TEST((membership().info().value() == WorkerInfo{"m", 0}));
}

BOOST_AUTO_TEST_CASE(a_former_seed_that_is_not_there_yet_does_not_end_a_wait_for_members) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)}, {1, "trainer", 2});
  seed.die();
  BarePeer next(hub, "p1", 2);
  const Meanwhile meanwhile({[&](const detail::WaitPoint&) {
    core().link().connect("memory://nobody");  // where the name of the seed leads now
    next.connect("m");
    BOOST_TEST(outcome(next.ask("m", "membership", join_of(next, 0, 2))) == "m:1 p1:0");
  }});
  BOOST_TEST(failure_of(membership().wait_for_members(2, clock->now() + 1s)) == "nothing");
}

BOOST_AUTO_TEST_CASE(the_next_lets_nobody_into_a_world_of_a_given_size_whom_the_first_would_refuse) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)}, {{}, "trainer", 2});
  seed.die();
  const auto next = peer("p2", 2);
  BOOST_TEST(outcome(next->ask("m", "membership", join_of(*next, {}, 5))) ==
             "bad_argument p2 expects a world of 5, this is one of 2");
  BOOST_TEST(outcome(next->ask("m", "membership", join_of(*next, 7, 2))) ==
             "bad_argument p2 wants rank 7: out of range in a world of 2");
  BOOST_TEST(outcome(next->ask("m", "membership", join_of(*next, {}, 2))) == "m:1 p2:0");
  const auto more = peer("p3", 3);
  BOOST_TEST(outcome(more->ask("m", "membership", join_of(*more, {}, 2))) ==
             "resource_exhausted the world of 2 is complete");
}

BOOST_AUTO_TEST_CASE(waits_for_members_that_took_too_long_are_not_kept) {
  membership().found({{}, "trainer", 0});
  BOOST_TEST(failure_of(missing(2)).find("timeout") == 0U);
  const auto kept = clock.use_count();  // each wait has a future, which keeps the clock
  for (int i = 0; i < 10; ++i) BOOST_TEST(failure_of(missing(2)).find("timeout") == 0U);
  BOOST_TEST(clock.use_count() == kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
