// How a member lets newcomers in, by itself or through the one that has been in longest, and whom a newcomer asks when
// its seed is gone.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/membership/members.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// p2 is up and in. Another node of that name asks p1, which is in as well and passes it on.
struct Namesakes : Newcomer {
  /// Lets p1 and p2 in.
  Namesakes() {
    membership().found({{}, "trainer", 0});
    static_cast<void>(asked->ask("m", "membership", join_of(*asked)));
    static_cast<void>(former->ask("m", "membership", join_of(*former)));
  }

  /// The newcomer has the address of `there`, where a real one would be reached.
  Asked pass_on(const BarePeer& there, std::uint64_t life) {
    return asked->ask("m", "membership",
                      msg::MemberJoin{"p2", {life, life}, there.self().address, "ps", std::nullopt, 0});
  }

  void connection_fails(const std::string& address, ErrorCode code, std::string message) {
    Error why;
    why.code = code;
    why.message = std::move(message);
    membership().connect_failed(address, why);
  }

  std::unique_ptr<BarePeer> asked = peer("p1", 1);
  std::unique_ptr<BarePeer> former = peer("p2", 2);
  BarePeer elsewhere{hub, "p7", 7};
};

BOOST_FIXTURE_TEST_SUITE(membership_admission, Newcomer)

BOOST_AUTO_TEST_CASE(who_does_not_let_nodes_in_passes_them_on_once) {
  BarePeer seed(hub, "p1", 1);
  const auto newcomer = peer("p2", 2);
  const Asked early = newcomer->ask("m", "membership", join_of(*newcomer));
  BOOST_TEST(outcome(early) == "waits");  // it may still become the founder
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  BOOST_TEST(outcome(early) == "protocol_violation m is no member itself yet");
  const Asked let_in = newcomer->ask("m", "membership", join_of(*newcomer));
  const auto passed_on = seed.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(passed_on.size() == 1U);
  BOOST_TEST(passed_on[0].message.get<msg::MemberJoin>().name == "p2");
  BOOST_TEST(passed_on[0].to == "p1/membership");
  seed.answer("m", passed_on[0],
              msg::MemberList{3, {place_of(seed, 0, 1), own_place(1, 2), place_of(*newcomer, 2, 3)}});
  BOOST_TEST(outcome(let_in) == "p1:0 m:1 p2:2");
  const Asked other = newcomer->ask("m", "membership", join_of(*newcomer));
  const auto again = seed.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(again.size() == 1U);
  Error refused;
  refused.code = ErrorCode::name_in_use;
  seed.answer("m", again[0], msg::Failure{refused});
  BOOST_TEST(outcome(other) == "name_in_use ");
  const Asked passed_twice = seed.ask("m", "membership", join_of(*newcomer));
  BOOST_TEST(outcome(passed_twice) == "protocol_violation m does not let nodes in, p1 does");
  BOOST_TEST(seed.take<msg::MemberJoin>().empty());
}

BOOST_AUTO_TEST_CASE(who_was_passed_on_to_one_that_dies_is_let_in_by_the_next) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  const auto newcomer = peer("p2", 2);
  const auto leaving = peer("p3", 3);
  const Asked let_in = newcomer->ask("m", "membership", join_of(*newcomer));
  const Asked left = leaving->ask("m", "membership", join_of(*leaving));
  BOOST_TEST(seed.take<msg::MemberJoin>().size() == 2U);
  BOOST_TEST(outcome(let_in) == "waits");
  leaving->die();
  seed.die();
  BOOST_TEST(outcome(let_in) == "m:1 p2:0");
  BOOST_TEST(!missing(2).has_value());
  BOOST_TEST(!membership().info("p3").ok());
}

// Who passes it on has seen the end of the former life.
BOOST_AUTO_TEST_CASE(next_life_of_who_lets_nodes_in_is_let_in_once_the_former_one_is_gone_here_too) {
  const auto former = std::make_unique<BarePeer>(hub, "p1", 1);
  join_through(*former, {place_of(*former, 0, 1), own_place(1, 2)});
  const auto other = peer("p2", 2);
  BarePeer elsewhere(hub, "p7", 7);
  const msg::MemberJoin join{"p1", {9, 9}, elsewhere.self().address, "ps", std::nullopt, 0};
  const Asked refused = other->ask("m", "membership", join);
  BOOST_TEST(outcome(refused) == "waits");
  BOOST_TEST(elsewhere.is_up("m"));  // its link asks the former life
  Error why;
  why.code = ErrorCode::name_in_use;
  membership().connect_failed(elsewhere.self().address, why);
  BOOST_TEST(outcome(refused) == "name_in_use ");
  const Asked let_in = other->ask("m", "membership", join);
  BOOST_TEST(outcome(let_in) == "waits");
  former->die();
  BOOST_TEST(outcome(let_in) == "m:1 p1:0");
}

BOOST_AUTO_TEST_CASE(nobody_takes_the_rank_of_another_by_saying_so, *boost::unit_test::label("attack")) {
  BarePeer seed(hub, "p1", 1);
  BarePeer liar(hub, "p2", 2);
  join_through(seed, {place_of(seed, 1, 1), own_place(0, 2), place_of(liar, 2, 3)});
  liar.say("m", "membership", msg::MemberJoined{4, place_of(liar, 1, 3)});
  BOOST_TEST((membership().info(1).value() == WorkerInfo{"p1", 1}));
  liar.say("m", "membership", msg::MemberJoined{4, place_of(liar, 7, 3)});
  BOOST_TEST((membership().info(1).value() == WorkerInfo{"p1", 1}));
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
}

BOOST_AUTO_TEST_CASE(whose_rank_another_has_gets_it_when_that_one_is_gone) {
  BarePeer seed(hub, "p1", 1);
  const auto leaving = peer("p2", 2);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2), place_of(*leaving, 2, 3)});
  const auto next = peer("p3", 3);
  next->say("m", "membership", msg::MemberJoined{4, place_of(*next, 2, 4)});  // p2 has ended: it is not known here yet
  BOOST_TEST(!membership().info("p3").ok());
  leaving->die();
  BOOST_TEST((membership().info("p3").value() == WorkerInfo{"p3", 2}));
  BOOST_TEST(!missing(3).has_value());
}

BOOST_AUTO_TEST_CASE(who_is_gone_has_its_rank_until_another_takes_it) {
  membership().found({{}, "trainer", 0});
  auto leaving = peer("p1", 1);
  static_cast<void>(leaving->ask("m", "membership", join_of(*leaving)));
  leaving->die();
  BOOST_TEST((membership().info("p1").value() == WorkerInfo{"p1", 1}));
  const auto next = peer("p2", 2);
  BOOST_TEST(outcome(next->ask("m", "membership", join_of(*next))) == "m:0 p2:1");
  BOOST_TEST(!membership().info("p1").ok());
  const auto again = peer("p1", 3);  // up, and not in yet
  BOOST_TEST((membership().infos() == std::vector<WorkerInfo>{{"m", 0}, {"p2", 1}}));
  BOOST_TEST(outcome(again->ask("m", "membership", join_of(*again))) == "m:0 p1:2 p2:1");
  BOOST_TEST((membership().info("p1").value() == WorkerInfo{"p1", 2}));
}

BOOST_AUTO_TEST_CASE(whose_rank_is_taken_before_its_end_is_known_loses_it_with_its_end) {
  BarePeer seed(hub, "p1", 1);
  const auto leaving = peer("p2", 2);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2), place_of(*leaving, 2, 3)});
  const auto next = peer("p3", 3);
  seed.say("m", "membership", msg::MemberJoined{4, place_of(*next, 2, 4)});
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));  // it may live on: the seed may be cut off
  leaving->die();
  BOOST_TEST(!membership().info("p2").ok());
  BOOST_TEST((membership().info(2).value() == WorkerInfo{"p3", 2}));
}

BOOST_AUTO_TEST_CASE(an_epoch_that_a_life_says_of_itself_does_not_end_its_next_life,
                     *boost::unit_test::label("attack")) {
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  const auto restart = [&](const NodeName& name, std::uint32_t rank, std::uint64_t said) {
    {
      const auto former = peer(name, 2);
      former->say("m", "membership", msg::MemberJoined{said, place_of(*former, rank, said)});
    }
    auto next = peer(name, 3);
    seed.say("m", "membership", msg::MemberJoined{rank + 2, place_of(*next, rank, rank + 2)});
    BOOST_TEST(next->end_of("m").value_or("") == "");
    BOOST_TEST((membership().info(name).value() == WorkerInfo{name, rank}));
    return next;
  };
  const auto second = restart("p2", 2, std::numeric_limits<std::uint64_t>::max());  // refused
  const auto third = restart("p3", 3, 1000);
  BOOST_TEST(!missing(4).has_value());
}

BOOST_AUTO_TEST_CASE(a_life_that_has_the_epoch_of_the_former_one_from_another_coordinator_is_in) {
  const auto first = peer("p1", 1);
  const auto second = peer("p2", 2);
  join_through(*first, {place_of(*first, 0, 1), place_of(*second, 1, 2), own_place(2, 3)});
  const auto former = peer("w", 3);
  first->say("m", "membership", msg::MemberJoined{7, place_of(*former, 3, 7)});  // second does not hear of it
  BOOST_TEST((membership().info("w").value() == WorkerInfo{"w", 3}));
  former->die();
  first->die();
  const auto next = peer("w", 4);
  second->say("m", "membership", msg::MemberJoined{7, place_of(*next, 3, 7)});
  next->say("m", "membership", msg::MemberJoined{7, place_of(*next, 3, 7)});
  BOOST_TEST(next->end_of("m").value_or("") == "");
  BOOST_TEST((membership().info("w").value() == WorkerInfo{"w", 3}));
}

BOOST_AUTO_TEST_CASE(what_was_said_before_this_node_was_in_does_not_count_against_who_let_it_in,
                     *boost::unit_test::label("attack")) {
  const auto liar = peer("p9", 9);
  liar->say("m", "membership", msg::MemberJoined{0, place_of(*liar, 0, 0)});
  BarePeer seed(hub, "p1", 1);
  join_through(seed, {place_of(seed, 0, 1), own_place(1, 2)});
  BOOST_TEST((membership().info(0).value() == WorkerInfo{"p1", 0}));
  BOOST_TEST(!membership().info("p9").ok());
  const auto newcomer = peer("p2", 2);
  static_cast<void>(newcomer->ask("m", "membership", join_of(*newcomer)));
  BOOST_TEST(liar->take<msg::MemberJoin>().empty());
  BOOST_TEST(seed.take<msg::MemberJoin>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(when_the_seed_dies_one_that_gives_another_address_than_its_seed_is_asked_once_it_is_in) {
  BarePeer seed(hub, "p1", 1);
  const auto silent = peer("p9", 9);  // the link has no news of it, as of an address of a seed that is up by another
  membership().join({{seed.self().address}, {silent->self().address, Incarnation{8, 8}}}, {{}, "trainer", 0});
  BOOST_TEST(seed.take<msg::MemberJoin>().size() == 1U);
  const auto newcomer = peer("p0", 3);
  const auto other = peer("p2", 2);
  seed.die();
  BOOST_TEST(newcomer->take<msg::MemberJoin>().empty());  // it may want to join, too
  BOOST_TEST(other->take<msg::MemberJoin>().empty());
  other->say("m", "membership", msg::MemberJoined{2, place_of(*other, 1, 2)});
  const auto asked = other->take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  other->answer("m", asked[0], msg::MemberList{3, {place_of(*other, 1, 2), own_place(0, 3)}});
  BOOST_TEST(!missing(2, detail::Membership::Until::we_are_in).has_value());
}

BOOST_AUTO_TEST_CASE(when_the_last_seed_dies_one_that_is_in_is_asked) {
  BarePeer seed(hub, "p1", 1);
  membership().join({{seed.self().address}, {"memory://x"}}, {{}, "trainer", 0});
  const auto other = peer("p2", 2);
  other->say("m", "membership", msg::MemberJoined{2, place_of(*other, 1, 2)});
  BOOST_TEST(other->take<msg::MemberJoin>().empty());
  seed.die();
  BOOST_TEST(other->take<msg::MemberJoin>().size() == 1U);
  other->die();
  const auto error = missing(2);
  BOOST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::peer_down), error->text());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(membership_namesakes, Namesakes)

BOOST_AUTO_TEST_CASE(a_newcomer_whose_name_a_living_member_has_is_refused) {
  const Asked newcomer = pass_on(elsewhere, 9);
  BOOST_TEST(outcome(newcomer) == "waits");
  BOOST_TEST(elsewhere.is_up("m"));  // whoever is there tells whether it is another one
  connection_fails("memory://p8", ErrorCode::name_in_use, "of another address");
  BOOST_TEST(outcome(newcomer) == "waits");
  connection_fails(elsewhere.self().address, ErrorCode::name_in_use, "another node is up under the name p2");
  BOOST_TEST(outcome(newcomer) == "name_in_use another node is up under the name p2");
  BOOST_TEST(former->is_up("m"));
  BOOST_TEST((membership().info("p2").value() == WorkerInfo{"p2", 2}));
  BOOST_TEST(asked->take<msg::MemberJoined>().size() ==
             2U);  // of m and of the former p2: nobody was told of the newcomer
}

BOOST_AUTO_TEST_CASE(a_newcomer_is_let_in_once_the_former_life_of_its_name_is_gone) {
  const Asked newcomer = pass_on(elsewhere, 9);
  BOOST_TEST(outcome(newcomer) == "waits");
  former->die();
  BOOST_TEST(outcome(newcomer) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(of_newcomers_of_one_name_the_last_is_kept) {
  const Asked first = pass_on(elsewhere, 8);
  const Asked second = pass_on(elsewhere, 9);
  BOOST_TEST(outcome(first) == "name_in_use another newcomer has the name p2");
  BOOST_TEST(outcome(second) == "waits");
  former->die();
  BOOST_TEST(outcome(second) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(a_newcomer_whose_name_is_taken_is_told_when_the_node_ends) {
  const Asked newcomer = pass_on(elsewhere, 9);
  Error why;
  why.code = ErrorCode::shutting_down;
  why.message = "the node ends";
  membership().stop(why);
  BOOST_TEST(outcome(newcomer) == "shutting_down the node ends");
}

/// No life of p2 is up. One, at p7's address, was let in through p1 and is not reached yet; p8's address is the place
/// of another one.
struct Awaited : Namesakes {
  Awaited() {
    former->die();
    BOOST_TEST(outcome(pass_on(elsewhere, 8)) == "m:0 p1:1 p2:2");
    BOOST_TEST(asked->take<msg::MemberJoined>().size() == 3U);  // of m, of the former p2, of the first newcomer
  }
  BarePeer another{hub, "p8", 8};
};

BOOST_FIXTURE_TEST_CASE(of_two_newcomers_of_one_name_the_first_that_is_let_in_is_kept_if_it_lives, Awaited) {
  const Asked second = pass_on(another, 9);
  BOOST_TEST(outcome(second) == "waits");
  const auto first = peer("p2", 8);
  BOOST_TEST(outcome(second) == "waits");
  BOOST_TEST(another.is_up("m"));  // whoever is there tells whether the first one lives
  connection_fails(another.self().address, ErrorCode::name_in_use, "another node is up under the name p2");
  BOOST_TEST(outcome(second) == "name_in_use another node is up under the name p2");
  BOOST_TEST(first->is_up("m"));
  BOOST_TEST(asked->take<msg::MemberJoined>().empty());
}

BOOST_FIXTURE_TEST_CASE(of_two_newcomers_of_one_name_the_second_is_let_in_if_the_first_is_not_reached, Awaited) {
  const Asked second = pass_on(another, 9);
  BOOST_TEST(outcome(second) == "waits");
  connection_fails(elsewhere.self().address, ErrorCode::peer_unreachable, "nobody is there");
  BOOST_TEST(outcome(second) == "m:0 p1:1 p2:2");
  const auto third = pass_on(elsewhere, 10);
  BOOST_TEST(outcome(third) == "waits");
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_that_is_in_the_way_of_one_that_was_let_in_is_refused_or_replaces_it, Awaited) {
  {
    const auto second = peer("p2", 9);
    const Asked own = second->ask("m", "membership", join_of(*second));
    BOOST_TEST(outcome(own) == "waits");
    connection_fails(elsewhere.self().address, ErrorCode::name_in_use, "another node is up under the name p2");
    BOOST_TEST(outcome(own) == "name_in_use another node is up under the name p2");
    const Asked again = second->ask("m", "membership", join_of(*second));
    BOOST_TEST(outcome(again) == "waits");
  }
  connection_fails(elsewhere.self().address, ErrorCode::peer_unreachable, "nobody is there");  // the second is gone
  BOOST_TEST(asked->take<msg::MemberJoined>().empty());
  BOOST_TEST(outcome(pass_on(elsewhere, 10)) == "m:0 p1:1 p2:2");
  const auto third = peer("p2", 11);
  const Asked own = third->ask("m", "membership", join_of(*third));
  BOOST_TEST(outcome(own) == "waits");
  connection_fails(elsewhere.self().address, ErrorCode::peer_unreachable, "nobody is there");
  BOOST_TEST(outcome(own) == "m:0 p1:1 p2:2");
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_at_the_address_of_one_that_was_let_in_is_its_next_life, Awaited) {
  BOOST_TEST(outcome(pass_on(elsewhere, 9)) == "m:0 p1:1 p2:2");
}

// Every newcomer makes the node try to reach the one that was let in.
BOOST_FIXTURE_TEST_CASE(one_that_was_let_in_and_has_gone_keeps_no_later_newcomer_out, Awaited) {
  {
    const auto second = peer("p2", 9);
    const Asked own = second->ask("m", "membership", join_of(*second));
    connection_fails(elsewhere.self().address, ErrorCode::name_in_use, "another node is up under the name p2");
    BOOST_TEST(outcome(own) == "name_in_use another node is up under the name p2");
  }
  elsewhere.die();
  const auto third = peer("p2", 10);
  BOOST_TEST(outcome(third->ask("m", "membership", join_of(*third))) == "m:0 p1:1 p2:2");
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_waits_only_so_long_for_one_at_whose_address_another_node_is_up, Awaited) {
  const Asked second = pass_on(another, 9);
  clock->advance(14s);
  BOOST_TEST(outcome(second) == "waits");
  clock->advance(1s);
  BOOST_TEST(outcome(second) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_CASE(a_newcomer_whose_namesake_was_not_reached_before_is_let_in) {
  former->die();
  const msg::MemberJoin first{"p2", {8, 8}, "memory://nobody", "ps", std::nullopt, 0};
  BOOST_TEST(outcome(asked->ask("m", "membership", first)) == "m:0 p1:1 p2:2");
  const auto second = peer("p2", 9);
  BOOST_TEST(outcome(second->ask("m", "membership", join_of(*second))) == "m:0 p1:1 p2:2");
}

// Another member has not seen the end of the life that it passes on.
BOOST_AUTO_TEST_CASE(a_life_that_has_ended_here_and_is_passed_on_keeps_no_newcomer_out) {
  former->die();
  BOOST_TEST(outcome(pass_on(elsewhere, 2)) == "m:0 p1:1 p2:2");
  BarePeer another(hub, "p8", 8);
  BOOST_TEST(outcome(pass_on(another, 9)) == "m:0 p1:1 p2:2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
