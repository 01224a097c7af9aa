#include "actors/membership/membership.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/membership/members.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::MemberPlace;
using detail::Membership;

std::string text_of(const std::optional<Error>& error) {
  return error ? std::string(name_of(error->code)) + " " + error->message : "nothing";
}

BOOST_AUTO_TEST_SUITE(membership_actor)
BOOST_FIXTURE_TEST_SUITE(newcomers, Newcomer)

BOOST_AUTO_TEST_CASE(who_founds_lets_others_in_and_tells_those_who_are_up) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  const Asked early = first->ask("m", "membership", join_of(*first));
  BOOST_TEST(outcome(early) == "waits");  // a listening node can be asked before it knows its own role
  BOOST_TEST(!core().membership().info().ok());
  membership().found({{}, "trainer", 0});
  BOOST_TEST(outcome(early) == "m:0 p1:1");
  BOOST_TEST(names({second->take<msg::MemberJoined>().back().member}) == "p1:1");
  BOOST_TEST(first->take<msg::MemberJoined>().size() == 1U);  // of "m": the peer knows its own place from the answer
  BOOST_TEST(text_of(missing(2)) == "nothing");
  BOOST_TEST(text_of(missing(3)).find("timeout 3 of 3 nodes are there") == 0U);  // p2 is up but not a member
  BOOST_TEST(outcome(second->ask("m", "membership", join_of(*second))) == "m:0 p1:1 p2:2");
  BOOST_TEST(text_of(missing(3)) == "nothing");
  const msg::MemberJoined news = first->take<msg::MemberJoined>().back();
  BOOST_TEST(news.member.name == "p2");
  BOOST_TEST(news.member.epoch == news.epoch);
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
}

BOOST_AUTO_TEST_CASE(a_newcomer_hears_the_places_of_all_who_are_in) {
  membership().found({{}, "trainer", 0});
  const auto first = peer("p1");
  const auto joined = first->take<msg::MemberJoined>();
  BOOST_REQUIRE(joined.size() == 1U);
  BOOST_TEST(joined[0].member.name == "m");
  BOOST_TEST(joined[0].member.role == "trainer");
  BOOST_TEST(joined[0].member.rank == 0U);
  BOOST_TEST(joined[0].epoch == 1U);
}

BOOST_AUTO_TEST_CASE(a_world_of_a_given_size_begins_when_all_are_in_and_has_no_place_for_more) {
  membership().found({1, "trainer", 3});
  const auto first = peer("p1");
  const auto second = peer("p2");
  const auto third = peer("p3");
  const Asked of_first = first->ask("m", "membership", join_of(*first, 0, 3));
  BOOST_TEST(outcome(of_first) == "waits");
  BOOST_TEST((membership().info("p1").value() == WorkerInfo{"p1", 0}));  // it has its requested rank
  BOOST_TEST(outcome(second->ask("m", "membership", join_of(*second, 1, 3))).find("bad_argument") == 0U);  // "m" has it
  BOOST_TEST(outcome(third->ask("m", "membership", join_of(*third, {}, 4))).find("bad_argument") == 0U);
  BOOST_TEST(text_of(missing(2)).find("timeout") == 0U);
  const Asked of_second = second->ask("m", "membership", join_of(*second, {}, 3));
  BOOST_TEST(outcome(of_first) == "m:1 p1:0 p2:2");
  BOOST_TEST(outcome(of_second) == "m:1 p1:0 p2:2");
  BOOST_TEST(text_of(missing(3)) == "nothing");
  const Asked refused = third->ask("m", "membership", join_of(*third, {}, 3));
  BOOST_TEST(outcome(refused).find("resource_exhausted") == 0U);
  BOOST_TEST((*refused)->error().operation == "join");
}

BOOST_AUTO_TEST_CASE(ranks_that_are_given_when_the_world_is_complete_are_known_here) {
  membership().found({{}, "trainer", 3});
  const auto first = peer("p1");
  const auto second = peer("p2");
  static_cast<void>(first->ask("m", "membership", join_of(*first, {}, 3)));
  BOOST_TEST(!membership().info("p1").ok());
  static_cast<void>(second->ask("m", "membership", join_of(*second, {}, 3)));
  BOOST_TEST((membership().info("p1").value() == WorkerInfo{"p1", 1}));
}

BOOST_AUTO_TEST_CASE(founder_of_a_world_of_a_given_size_keeps_the_place_of_a_member_that_it_does_not_reach) {
  membership().found({{}, "trainer", 3});
  const auto first = peer("p1");
  const Asked own = first->ask("m", "membership", join_of(*first, {}, 3));
  static_cast<void>(first->ask("m", "membership", msg::MemberJoin{"p2", {2, 2}, "memory://nobody", "ps", {}, 3}));
  BOOST_TEST(outcome(own) == "m:0 p1:1 p2:2");
  BOOST_TEST(outcome(first->ask("m", "membership", join_of(*first, {}, 3))) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(who_waits_to_be_let_in_when_the_node_ends_is_told_why) {
  membership().found({{}, "trainer", 3});
  const auto first = peer("p1");
  const Asked waiting = first->ask("m", "membership", join_of(*first, {}, 3));
  BOOST_TEST(outcome(waiting) == "waits");
  static_cast<void>(node->stop());
  BOOST_TEST(outcome(waiting).find("shutting_down") == 0U, outcome(waiting));
}

BOOST_AUTO_TEST_CASE(a_founder_that_cannot_have_its_own_place_says_so) {
  membership().found({5, "trainer", 2});
  BOOST_TEST(text_of(missing(1)).find("bad_argument") == 0U);
}

BOOST_AUTO_TEST_CASE(who_joins_asks_its_seed_for_its_place_and_goes_to_all_who_are_in) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  membership().join({{seed.self().address}}, {4, "trainer", 0});
  const auto asked = seed.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);  // it was reached at its address
  const auto& join = asked[0].message.get<msg::MemberJoin>();
  BOOST_TEST(join.name == "m");
  BOOST_TEST((join.incarnation == core().incarnation()));
  BOOST_TEST(join.address == "memory://m");
  BOOST_TEST(join.role == "trainer");
  BOOST_TEST((join.rank == 4U));
  BOOST_TEST(join.world_size == 0U);
  BOOST_TEST(asked[0].to == "p1/membership");
  BOOST_TEST(text_of(missing(1)).find("timeout") == 0U);
  seed.answer("m", asked[0], msg::MemberList{7, {place_of(seed, 0, 1), own_place(4, 7), place_of(other, 2, 3)}});
  BOOST_TEST((membership().info().value() == WorkerInfo{"m", 4}));
  BOOST_TEST(core().lives().is_up(other.life()));
  BOOST_TEST(text_of(missing(3, Membership::Until::we_are_in)) == "nothing");
  BOOST_TEST(names({other.take<msg::MemberJoined>().back().member}) == "m:4");
  BOOST_TEST(names({seed.take<msg::MemberJoined>().back().member}) == "m:4");
}

BOOST_AUTO_TEST_CASE(who_joined_is_in_when_all_are_up_that_were_there) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), {"p2", {2, 2}, "memory://nobody", "ps", 1, 2}, own_place(2, 3)});
  BOOST_TEST(text_of(missing(2)) == "nothing");
  BOOST_TEST(text_of(missing(2, Membership::Until::we_are_in)) == "nothing");  // no node is at p2's address any more
  BOOST_TEST(!membership().is_up("p2"));
}

BOOST_AUTO_TEST_CASE(a_list_without_who_asked_does_not_let_it_in) {
  BarePeer seed(hub, "p1", 1);
  msg::Member former = own_place(1, 2);
  former.incarnation = {6, 6};
  join_through(seed, {place_of(seed, 0, 1), former});
  BOOST_TEST(text_of(missing(1)) == "protocol_violation let in, and not in the list of members");
  BOOST_TEST(!membership().info().ok());
}

BOOST_AUTO_TEST_CASE(a_seed_that_refuses_is_the_reason) {
  BarePeer seed(hub, "p1", 1);
  membership().join({{seed.self().address}}, {{}, "trainer", 0});
  const auto asked = seed.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  Error refused;
  refused.code = ErrorCode::name_in_use;
  refused.message = "that name is taken";
  seed.answer("m", asked[0], msg::Failure{refused});
  BOOST_TEST(text_of(missing(1)) == "name_in_use that name is taken");
}

BOOST_AUTO_TEST_CASE(seeds_that_all_fail_are_all_named_and_a_refusal_comes_first) {
  membership().join({{"memory://x"}, {"memory://y"}}, {{}, "trainer", 0});
  const auto error = missing(1);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_unreachable));
  BOOST_TEST(error->operation == "join");
  BOOST_TEST(error->message.find("memory://x: ") == 0U, error->message);
  BOOST_TEST(error->message.find("; memory://y: ") != std::string::npos, error->message);
}

BOOST_AUTO_TEST_CASE(seeds_of_one_endpoint_fail_each) {
  const auto first = peer("p1", 1);  // the link has no news of who is up already
  const auto second = peer("p2", 2);
  membership().join({{first->self().address, Incarnation{9, 9}}, {second->self().address, Incarnation{9, 9}}},
                    {{}, "trainer", 0});
  const auto fail = [&](const std::string& address) {
    Error why = core().error(ErrorCode::peer_unreachable, "head", "connect", "did not connect back");
    why.endpoint = "tcp://head:4000";  // what the node says of itself
    membership().connect_failed(address, why);
  };
  fail("memory://p1");
  fail("memory://p1");
  BOOST_TEST(text_of(missing(4)).find("timeout") == 0U);
  fail("memory://p2");
  BOOST_TEST(text_of(missing(4)) ==
             "peer_unreachable memory://p1: did not connect back; memory://p2: did not connect back");
}

BOOST_AUTO_TEST_CASE(who_waits_too_long_for_a_seed_is_told_what_another_said) {
  BarePeer restarted(hub, "p1", 2);
  BarePeer silent(hub, "p2", 1);
  membership().join({{restarted.self().address, Incarnation{1, 1}}, {silent.self().address}}, {{}, "trainer", 0});
  const auto asked = silent.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  const std::string refusal = "; memory://p1: peer_restarted: another life listens there";
  const std::string late = text_of(missing(4));
  BOOST_TEST(late.find("timeout 3 of 4 nodes are there: m, p1, p2" + refusal) == 0U, late);
  silent.answer("m", asked[0], msg::MemberList{2, {place_of(silent, 0, 1), own_place(1, 2)}});
  BOOST_TEST(text_of(missing(4)).find(refusal) == std::string::npos);  // it is in
}

BOOST_AUTO_TEST_CASE(the_only_seed_that_is_not_there_is_the_reason) {
  membership().join({{"memory://x"}}, {{}, "trainer", 0});
  const auto error = missing(1);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_unreachable));
  BOOST_TEST(error->endpoint == "memory://x");
  BOOST_TEST(error->message.find("memory://x: ") != 0U, error->message);  // named once
}

BOOST_AUTO_TEST_CASE(a_seed_where_another_life_listens_is_not_asked) {
  BarePeer seed(hub, "p1", 1);
  membership().join({{"memory://x"}, {seed.self().address, Incarnation{9, 9}}}, {{}, "trainer", 0});
  BOOST_TEST(seed.take<msg::MemberJoin>().empty());
  const auto error = missing(1);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_restarted));
  BOOST_TEST(error->peer == "p1");
  BOOST_TEST(error->message.find("memory://p1: another life listens there") != std::string::npos, error->message);
}

BOOST_AUTO_TEST_CASE(the_life_that_was_expected_is_asked_and_only_the_first_seed) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  membership().join({{seed.self().address, Incarnation{1, 1}}, {other.self().address}}, {{}, "trainer", 0});
  BOOST_TEST(seed.take<msg::MemberJoin>().size() == 1U);
  BOOST_TEST(other.take<msg::MemberJoin>().empty());
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_not_there_does_not_matter_once_another_was_asked) {
  BarePeer seed(hub, "p1", 1);
  membership().join({{seed.self().address}, {"memory://x"}}, {{}, "trainer", 2});
  const auto asked = seed.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  seed.answer("m", asked[0], msg::MemberList{2, {place_of(seed, 0, 1), own_place(1, 2)}});
  BOOST_TEST(text_of(missing(2)) == "nothing");
}

BOOST_AUTO_TEST_CASE(when_the_seed_dies_before_it_answers_another_is_asked) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  membership().join({{seed.self().address}, {other.self().address}}, {{}, "trainer", 0});
  BOOST_REQUIRE(seed.take<msg::MemberJoin>().size() == 1U);
  BOOST_TEST(other.take<msg::MemberJoin>().empty());
  seed.die();
  const auto asked = other.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  other.answer("m", asked[0], msg::MemberList{3, {place_of(other, 1, 2), own_place(0, 3)}});
  BOOST_TEST(text_of(missing(2, Membership::Until::we_are_in)) == "nothing");
  BOOST_TEST((membership().info().value() == WorkerInfo{"m", 0}));
}

BOOST_AUTO_TEST_CASE(when_all_seeds_have_died_or_are_not_there_they_are_the_reason) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  membership().join({{seed.self().address}, {other.self().address}, {"memory://x"}}, {{}, "trainer", 0});
  seed.die();
  BOOST_TEST(other.take<msg::MemberJoin>().size() == 1U);
  BOOST_TEST(text_of(missing(2)).find("timeout") == 0U);
  other.die();
  const auto error = missing(2);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_down), error->text());
  for (const char* address : {"memory://p1: ", "memory://p2: ", "memory://x: "})
    BOOST_TEST(error->message.find(address) != std::string::npos, error->message);
}

BOOST_AUTO_TEST_CASE(when_the_seed_dies_its_other_addresses_are_tried) {
  const auto other = peer("p2", 2);  // the link has no news of who is up already, as of a seed's second address
  BarePeer seed(hub, "p1", 1);
  membership().join({{seed.self().address}, {other->self().address, Incarnation{9, 9}}}, {{}, "trainer", 0});
  BOOST_REQUIRE(seed.take<msg::MemberJoin>().size() == 1U);
  other->die();
  BOOST_TEST(text_of(missing(2)).find("timeout") == 0U);
  seed.die();
  const auto error = missing(2);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_down), error->text());
  for (const char* address : {"memory://p1: ", "memory://p2: "})
    BOOST_TEST(error->message.find(address) != std::string::npos, error->message);
}

BOOST_AUTO_TEST_CASE(in_a_world_of_a_given_size_a_member_that_is_not_there_is_waited_for) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), {"p2", {2, 2}, "memory://nobody", "ps", 1, 2}, own_place(2, 3)},
               {{}, "trainer", 3});
  BOOST_TEST(text_of(missing(3)).find("timeout 2 of 3") == 0U);
  BOOST_TEST(text_of(missing(2)) == "nothing");
  BOOST_TEST(text_of(missing(2, Membership::Until::we_are_in)).find("timeout") ==
             0U);  // p2 was present at its admission
}

BOOST_AUTO_TEST_CASE(news_of_an_earlier_life_that_come_late_change_nothing) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)}, {{}, "trainer", 3});
  seed.say("m", "membership", msg::MemberJoined{5, {"p9", {3, 3}, "memory://nobody", "ps", 2, 5}});
  seed.say("m", "membership", msg::MemberJoined{4, {"p9", {2, 2}, "memory://nobody", "ps", 7, 4}});
  BOOST_TEST((membership().info("p9").value() == WorkerInfo{"p9", 2}));
}

BOOST_AUTO_TEST_CASE(news_of_a_newcomer_are_believed_of_itself_and_of_who_lets_nodes_in,
                     *boost::unit_test::label("attack")) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2), place_of(other, 2, 3)});
  const msg::Member ghost{"p9", {3, 3}, "memory://nobody", "ps", 3, 4};
  other.say("m", "membership", msg::MemberJoined{4, ghost});
  BOOST_TEST(!membership().info("p9").ok());
  msg::Member own = place_of(other, 2, 3);
  own.incarnation = {9, 9};  // of another life than the one that says so
  other.say("m", "membership", msg::MemberJoined{4, own});
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
  BOOST_TEST(!other.end_of("m").has_value());
  seed.say("m", "membership", msg::MemberJoined{4, ghost});
  BOOST_TEST((membership().info("p9").value() == WorkerInfo{"p9", 3}));
}

BOOST_AUTO_TEST_CASE(who_is_joining_lets_nobody_in) {
  BarePeer seed(hub, "p1", 1);
  membership().join({{seed.self().address}}, {{}, "trainer", 0});
  const auto newcomer = peer("p2", 2);
  BOOST_TEST(outcome(newcomer->ask("m", "membership", join_of(*newcomer))) ==
             "protocol_violation m is no member itself yet");
}

BOOST_AUTO_TEST_CASE(a_word_that_asks_for_nothing_that_is_served_is_refused) {
  const auto first = peer("p1");
  BOOST_TEST(outcome(first->ask("m", "membership", msg::MemberLeft{})) == "protocol_violation not served by this node");
}

BOOST_AUTO_TEST_CASE(the_next_lets_nodes_in_when_the_first_is_gone) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  seed.die();
  const auto newcomer = peer("p2", 2);
  BOOST_TEST(outcome(newcomer->ask("m", "membership", join_of(*newcomer))) ==
             "m:1 p2:0");  // the dead one's rank is free
}

BOOST_AUTO_TEST_CASE(a_member_that_was_not_reached_leaves_its_rank_once_it_is_given_up) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), {"p2", {2, 2}, "memory://nobody", "ps", 1, 2}, own_place(2, 3)});
  seed.die();
  const auto newcomer = peer("p3", 3);
  BOOST_TEST(outcome(newcomer->ask("m", "membership", join_of(*newcomer))) == "m:2 p2:1 p3:0");
  clock->advance(10min);
  const auto next = peer("p4", 4);
  BOOST_TEST(outcome(next->ask("m", "membership", join_of(*next))) == "m:2 p3:0 p4:1");
}

BOOST_AUTO_TEST_CASE(a_life_that_a_later_one_has_replaced_is_told_so) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  {
    BarePeer first(hub, "p2", 2);
    seed.say("m", "membership", msg::MemberJoined{3, place_of(first, 2, 3)});
    BOOST_TEST(core().lives().is_up(first.life()));                             // it was gone to
    first.say("m", "membership", msg::MemberJoined{3, place_of(first, 2, 3)});  // as an admitted node does
  }
  BarePeer second(hub, "p2", 3);
  seed.say("m", "membership", msg::MemberJoined{4, place_of(second, 2, 4)});
  BOOST_TEST(core().lives().is_up(second.life()));
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
  msg::Member late = place_of(second, 5, 2);
  seed.say("m", "membership", msg::MemberJoined{2, late});  // admitted before the present one
  BOOST_TEST(second.end_of("m").value_or("").find("a later life of p2 is known to m") != std::string::npos);
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
  late.incarnation = {2, 2};  // also if no node of that name is up any more
  seed.say("m", "membership", msg::MemberJoined{3, late});
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
}

BOOST_AUTO_TEST_CASE(news_of_another_life_than_the_one_that_is_up_is_not_believed) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  msg::Member other_life = place_of(seed, 3, 4);
  other_life.incarnation = {8, 8};
  seed.say("m", "membership", msg::MemberJoined{4, other_life});
  BOOST_TEST((membership().info("p1").value() == WorkerInfo{"p1", 0}));
  BOOST_TEST(!seed.end_of("m").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

/// A node of a world that existed from the start.
struct InTheWorld : AmongBarePeers {
  [[nodiscard]] std::optional<Error> disagreement() { return core().membership().wait_for_agreement(clock->now()); }
};

BOOST_AUTO_TEST_CASE(in_a_world_made_at_once_a_node_says_its_place_without_an_epoch) {
  AmongBarePeers world(3);
  const auto first = world.peer("p1");
  const auto joined = first->take<msg::MemberJoined>();
  BOOST_REQUIRE(joined.size() == 1U);
  BOOST_TEST(joined[0].epoch == 0U);
  BOOST_TEST(joined[0].member.name == "m");
  BOOST_TEST(joined[0].member.role == "m");
  BOOST_TEST(joined[0].member.address == "memory://m");
  BOOST_TEST(joined[0].member.rank == 3U);
  BOOST_TEST(joined[0].member.epoch == 0U);  // lives of that world are ordered by the time at which they come up
}

BOOST_FIXTURE_TEST_SUITE(common_end, InTheWorld)

BOOST_AUTO_TEST_CASE(waits_for_the_common_end_that_took_too_long_are_not_kept) {
  const auto first = peer("a1");
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  const auto kept = clock.use_count();  // each wait has a future, which keeps the clock
  for (int i = 0; i < 10; ++i) BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  BOOST_TEST(clock.use_count() == kept);
}

/// Returns the requested counts, each answered with `active` and `started`.
std::vector<std::uint64_t> count(BarePeer& peer, std::uint64_t active, std::uint64_t started) {
  std::vector<std::uint64_t> rounds;
  for (const auto& asked : peer.take_heard<msg::ShutdownCount>()) {
    rounds.push_back(asked.message.get<msg::ShutdownCount>().round);
    BOOST_TEST(asked.to == peer.self().name + "/membership");
    peer.answer("m", asked, msg::ShutdownCounted{rounds.back(), active, started});
  }
  return rounds;
}

BOOST_AUTO_TEST_CASE(the_first_by_name_counts_twice_and_tells_the_others) {
  const auto other = peer("p1");
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  BOOST_TEST(other->take<msg::ShutdownCount>().empty());  // p1 is not ready
  other->say("m", "membership", msg::ShutdownReady{"p1", other->self().incarnation});
  BOOST_TEST(count(*other, 0, 3).size() == 1U);
  BOOST_TEST(other->take<msg::ShutdownAgreed>().empty());
  BOOST_TEST(count(*other, 0, 3).empty());  // the second round does not begin at once
  clock->advance(1ms);
  BOOST_TEST(count(*other, 0, 3).size() == 1U);
  BOOST_TEST(other->take<msg::ShutdownAgreed>().size() == 1U);
  BOOST_TEST(text_of(disagreement()) == "nothing");
}

BOOST_AUTO_TEST_CASE(who_is_active_is_counted_again_after_a_pause) {
  const auto other = peer("p1");
  static_cast<void>(disagreement());
  other->say("m", "membership", msg::ShutdownReady{"p1", other->self().incarnation});
  BOOST_TEST(count(*other, 1, 3).size() == 1U);
  clock->advance(19ms);
  BOOST_TEST(count(*other, 0, 3).empty());
  clock->advance(1ms);
  BOOST_TEST(count(*other, 0, 3).size() == 1U);
  clock->advance(20ms);
  BOOST_TEST(count(*other, 0, 3).size() == 1U);
  BOOST_TEST(other->take<msg::ShutdownAgreed>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_could_not_be_counted_is_asked_again_in_the_same_round) {
  const auto other = peer("p1");
  static_cast<void>(disagreement());
  other->say("m", "membership", msg::ShutdownReady{"p1", other->self().incarnation});
  const auto asked = other->take_heard<msg::ShutdownCount>();
  BOOST_REQUIRE(asked.size() == 1U);
  Error refused;
  refused.code = ErrorCode::resource_exhausted;
  other->answer("m", asked[0], msg::Failure{refused});
  BOOST_TEST(other->take<msg::ShutdownCount>().empty());
  clock->advance(20ms);
  BOOST_TEST(count(*other, 0, 3) == std::vector<std::uint64_t>{asked[0].message.get<msg::ShutdownCount>().round},
             boost::test_tools::per_element());
  clock->advance(1ms);
  BOOST_TEST(count(*other, 0, 3).size() == 1U);
  BOOST_TEST(other->take<msg::ShutdownAgreed>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_is_gone_is_not_waited_for) {
  const auto other = peer("p1");
  const auto lasting = peer("p2");
  static_cast<void>(disagreement());
  lasting->say("m", "membership", msg::ShutdownReady{"p2", lasting->self().incarnation});
  BOOST_TEST(count(*lasting, 0, 0).empty());
  other->die();
  BOOST_TEST(count(*lasting, 0, 0).size() == 1U);
  clock->advance(1ms);
  BOOST_TEST(count(*lasting, 0, 0).size() == 1U);
  BOOST_TEST(text_of(disagreement()) == "nothing");
}

BOOST_AUTO_TEST_CASE(what_the_dead_had_begun_does_not_stand_for_what_others_began_since) {
  const auto first = peer("p1");
  const auto second = peer("p2", 2);
  static_cast<void>(disagreement());
  for (BarePeer* other : {first.get(), second.get()})
    other->say("m", "membership", msg::ShutdownReady{other->self().name, other->self().incarnation});
  BOOST_TEST(count(*first, 0, 5).size() == 1U);
  BOOST_TEST(count(*second, 0, 3).size() == 1U);
  second->die();
  for (int idle_rounds = 0; idle_rounds < 2; ++idle_rounds) {
    BOOST_TEST(first->take<msg::ShutdownAgreed>().empty());
    clock->advance(20ms);
    BOOST_TEST(count(*first, 0, 8).size() == 1U);
  }
  BOOST_TEST(first->take<msg::ShutdownAgreed>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_is_not_the_first_says_when_it_is_done_and_to_each_new_first) {
  const auto other = peer("a");
  BOOST_TEST(other->take<msg::ShutdownReady>().empty());
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  const auto ready = other->take_heard<msg::ShutdownReady>();
  BOOST_REQUIRE(ready.size() == 1U);
  BOOST_TEST(ready[0].to == "a/membership");
  BOOST_TEST(ready[0].message.get<msg::ShutdownReady>().node == "m");
  other->say("m", "membership", msg::ShutdownReady{"a", other->self().incarnation});
  BOOST_TEST(other->take<msg::ShutdownCount>().empty());  // only the first member counts
  const auto first = peer("B");                           // sorts before "a"
  BOOST_TEST(first->take<msg::ShutdownReady>().size() == 1U);
  first->die();
  BOOST_TEST(other->take<msg::ShutdownReady>().size() == 1U);
  other->say("m", "membership", msg::ShutdownAgreed{1});
  BOOST_TEST(text_of(disagreement()) == "nothing");
  BOOST_TEST(other->take<msg::ShutdownReady>().empty());  // the agreement is complete: no further message
}

BOOST_AUTO_TEST_CASE(who_is_done_tells_the_next_first_also_once_it_has_agreed_and_nobody_else) {
  const auto first = peer("a");
  static_cast<void>(disagreement());
  BOOST_TEST(first->take<msg::ShutdownReady>().size() == 1U);
  const auto next = peer("b");
  peer("c", 3)->die();
  BOOST_TEST(first->take<msg::ShutdownReady>().empty());
  BOOST_TEST(next->take<msg::ShutdownReady>().empty());
  first->say("m", "membership", msg::ShutdownAgreed{1});
  BOOST_TEST(!disagreement());
  first->die();  // before b has heard that all agree
  BOOST_TEST(next->take<msg::ShutdownReady>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_is_counted_says_what_it_has_begun_and_not_ended) {
  const auto other = peer("a");
  const auto ask = [&](std::uint64_t round) {
    const Asked asked = other->ask("m", "membership", msg::ShutdownCount{round});
    return (*asked)->value().get<msg::ShutdownCounted>();
  };
  const msg::ShutdownCounted before = ask(4);
  BOOST_TEST(before.round == 4U);
  BOOST_TEST(before.active == 0U);
  core().request({"a", "worker", "fetch", std::nullopt, msg::ShutdownCount{1}}, [](const Result<msg::AnyMessage>&) {});
  BOOST_TEST(ask(5).active == 1U);
  BOOST_TEST(ask(5).started == before.started + 1U);
  pool->keeps = true;
  core().run(
      "job", [] {}, [](const Error&) {});
  BOOST_TEST(ask(6).active == 2U);
}

BOOST_AUTO_TEST_CASE(asking_for_counts_is_no_work) {
  const auto other = peer("p1");
  static_cast<void>(disagreement());
  const std::uint64_t before = core().requests_started();
  other->say("m", "membership", msg::ShutdownReady{"p1", other->self().incarnation});
  BOOST_TEST(other->take<msg::ShutdownCount>().size() == 1U);
  const std::uint64_t asked = core().requests_started() - before;
  other->die();
  const auto first = peer("a");
  const Asked counted = first->ask("m", "membership", msg::ShutdownCount{1});
  BOOST_TEST((*counted)->value().get<msg::ShutdownCounted>().started + asked == core().requests_started());
}

BOOST_AUTO_TEST_CASE(only_the_first_of_the_living_counts_and_ends_the_cluster, *boost::unit_test::label("attack")) {
  const auto first = peer("a");
  const auto liar = peer("b");
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  liar->say("m", "membership", msg::ShutdownAgreed{1});
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  const Asked count = liar->ask("m", "membership", msg::ShutdownCount{1});
  BOOST_REQUIRE((count->has_value() && !(*count)->ok()));
  BOOST_TEST(((*count)->error().code == ErrorCode::protocol_violation));
  BOOST_TEST((*count)->error().message == "b does not end the cluster, a does");
  first->die();  // now it is b's
  BOOST_TEST((*liar->ask("m", "membership", msg::ShutdownCount{1}))->ok());
  liar->say("m", "membership", msg::ShutdownAgreed{1});
  BOOST_TEST(text_of(disagreement()) == "nothing");
}

BOOST_AUTO_TEST_CASE(nobody_is_ready_for_another, *boost::unit_test::label("attack")) {
  const auto liar = peer("p1");
  const auto other = peer("p2");
  BOOST_TEST(text_of(disagreement()).find("timeout") == 0U);
  liar->say("m", "membership", msg::ShutdownReady{"p1", liar->self().incarnation});
  liar->say("m", "membership", msg::ShutdownReady{"p2", other->self().incarnation});
  BOOST_TEST(liar->take<msg::ShutdownCount>().empty());
  other->say("m", "membership", msg::ShutdownReady{"p2", other->self().incarnation});
  BOOST_TEST(liar->take<msg::ShutdownCount>().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
