// Members to which a node has no connection are tried again (MB-13, MB-15).
#include "actors/membership/lost_members.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
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
using detail::LostMembers;

constexpr TimePoint kStart{1h};

msg::Member member(const NodeName& name, std::uint64_t life = 1) {
  return {name, {0, life}, "memory://" + name, "trainer", 1, 1};
}

std::string names_of(const std::vector<msg::Member>& members) {
  std::string names;
  for (const msg::Member& one : members) names += one.name + " ";
  return names;
}

/// The node "m" joined through "p1" a cluster that others join at any time. Nobody listens at p9's address.
struct Unreached : AmongBarePeers {
  Unreached() : AmongBarePeers(std::nullopt), seed(hub, "p1", 1) {}

  /// Joins, and hears of these members: their names, and where each listens.
  void join(const std::vector<std::pair<NodeName, std::string>>& others, const std::vector<std::string>& seeds = {}) {
    std::vector<detail::Seed> all{{seed.self().address}};
    for (const std::string& address : seeds) all.push_back({address});
    msg::MemberList list{4, {place_of(seed, 0, 1), {"m", core().incarnation(), "memory://m", "trainer", 1, 2}}};
    std::uint32_t rank = 2;
    for (const auto& [name, address] : others) list.members.push_back({name, {9, 9}, address, "ps", rank++, 3});
    join_with(list, all);
  }
  /// Joins; p2, which was let in before, cannot be reached.
  void join_after_p2() {
    const msg::Member second{"p2", {2, 2}, "memory://p2", "ps", 1, 2};
    const msg::Member own{"m", core().incarnation(), "memory://m", "trainer", 2, 3};
    join_with({3, {place_of(seed, 0, 1), second, own}}, {{seed.self().address}});
  }
  void join_with(const msg::MemberList& list, std::vector<detail::Seed> seeds) {
    core().membership().join(std::move(seeds), {{}, "trainer", 0});
    seed.connect("m");
    const auto asked = seed.take_heard<msg::MemberJoin>();
    BOOST_REQUIRE(asked.size() == 1U);
    seed.answer("m", asked[0], list);
  }
  [[nodiscard]] bool is_up(const NodeName& name) { return core().membership().is_up(name); }

  BarePeer seed;
};

BOOST_AUTO_TEST_SUITE(lost_members)

BOOST_AUTO_TEST_CASE(who_was_not_reached_is_tried_after_longer_and_longer_pauses_and_then_given_up) {
  LostMembers lost;
  TimePoint now = kStart;
  BOOST_TEST(!lost.next_due());
  std::vector<std::int64_t> pauses;
  BOOST_TEST(lost.was_not_reached(member("a"), now));
  for (int tries = 0; lost.next_due(); ++tries) {
    BOOST_REQUIRE(tries < 100);
    pauses.push_back(std::chrono::duration_cast<std::chrono::seconds>(*lost.next_due() - now).count());
    BOOST_TEST(lost.due(*lost.next_due() - 1ns).empty());
    now = *lost.next_due();
    BOOST_TEST(names_of(lost.due(now)) == "a ");
    BOOST_TEST(!lost.next_due());  // until it fails
    BOOST_TEST(lost.due(now + 1h).empty());
    BOOST_TEST(lost.tries("a"));
    BOOST_TEST(!lost.was_not_reached(member("a"), now));
  }
  BOOST_TEST(pauses == (std::vector<std::int64_t>{1, 2, 4, 8, 16, 30, 30, 30, 30, 30}),
             boost::test_tools::per_element());
  BOOST_TEST(!lost.tries("a"));
  BOOST_TEST(!lost.was_not_reached(member("a"), now));  // no news, and it is not tried
  BOOST_TEST(!lost.next_due());
}

BOOST_AUTO_TEST_CASE(of_those_that_were_given_up_the_last_are_remembered) {
  LostMembers lost;
  const auto give_up = [&](const NodeName& name) {
    for (int tries = 0; tries <= LostMembers::kTries; ++tries)
      static_cast<void>(lost.was_not_reached(member(name), kStart));
  };
  for (std::size_t number = 0; number <= LostMembers::kGivenUpMax; ++number) give_up("w" + std::to_string(number));
  BOOST_TEST(!lost.has("w0"));
  BOOST_TEST(lost.has("w1"));
  BOOST_TEST(!lost.tries("w1"));
  BOOST_TEST(lost.was_not_reached(member("w0"), kStart));  // as one that was never heard of
  BOOST_TEST(lost.tries("w0"));
}

BOOST_AUTO_TEST_CASE(one_that_came_back_and_was_given_up_again_is_remembered_as_the_last) {
  LostMembers lost;
  const auto give_up = [&](const NodeName& name) {
    for (int tries = 0; tries <= LostMembers::kTries; ++tries)
      static_cast<void>(lost.was_not_reached(member(name), kStart));
  };
  give_up("a");
  for (std::size_t number = 1; number < LostMembers::kGivenUpMax; ++number) give_up("w" + std::to_string(number));
  lost.forget({"a", member("a").incarnation});
  give_up("a");
  give_up("new");
  BOOST_TEST(lost.has("a"));
  BOOST_TEST(!lost.has("w1"));
}

BOOST_AUTO_TEST_CASE(another_life_begins_anew) {
  LostMembers lost;
  for (int tries = 0; tries < 20; ++tries) static_cast<void>(lost.was_not_reached(member("a"), kStart));
  BOOST_TEST(lost.was_not_reached(member("a", 2), kStart));
  BOOST_TEST((lost.next_due() == kStart + LostMembers::kFirstPause));
  lost.forget({"a", {0, 1}});
  BOOST_TEST(lost.tries("a"));
  lost.forget({"a", {0, 2}});
  BOOST_TEST(!lost.next_due());
  BOOST_TEST(lost.was_not_reached(member("a", 2), kStart));
}

BOOST_AUTO_TEST_CASE(a_life_that_another_one_has_replaced_is_not_tried) {
  LostMembers lost;
  static_cast<void>(lost.was_not_reached(member("a"), kStart));
  lost.learned(member("a"));
  lost.learned(member("b", 2));
  BOOST_TEST(lost.tries("a"));
  lost.learned(member("a", 2));
  BOOST_TEST(!lost.tries("a"));
  BOOST_TEST(!lost.next_due());
}

BOOST_AUTO_TEST_CASE(the_earliest_is_next) {
  LostMembers lost;
  static_cast<void>(lost.was_not_reached(member("b"), kStart + 500ms));
  static_cast<void>(lost.was_not_reached(member("a"), kStart));
  BOOST_TEST((lost.next_due() == kStart + 1s));
  BOOST_TEST(names_of(lost.due(kStart + 1s)) == "a ");
  BOOST_TEST(names_of(lost.due(kStart + 2s)) == "b ");
}

BOOST_AUTO_TEST_CASE(who_has_no_key_is_taken_once_it_is_known) {
  LostMembers lost;
  lost.has_no_key(member("a"));
  lost.has_no_key(member("b"));
  lost.has_no_key(member("c"));
  lost.forget({"c", {0, 1}});
  BOOST_TEST(names_of(lost.take_known([](const NodeName& name) { return name != "a"; })) == "b ");
  BOOST_TEST(names_of(lost.take_known([](const NodeName&) { return true; })) == "a ");
  BOOST_TEST(!lost.next_due());
}

BOOST_FIXTURE_TEST_SUITE(unreached, Unreached)

BOOST_AUTO_TEST_CASE(a_member_that_was_not_reached_is_connected_to_once_it_is_there) {
  join({{"p9", "memory://p9"}});
  clock->advance(2s);  // a second attempt has failed, too
  const BarePeer late(hub, "p9", 9);
  clock->advance(999ms);
  BOOST_TEST(!is_up("p9"));
  clock->advance(1ms);
  BOOST_TEST(is_up("p9"));
}

BOOST_AUTO_TEST_CASE(a_member_at_a_seeds_address_is_tried_as_often) {
  join({{"p9", "memory://p9"}}, {"memory://p9"});
  clock->advance(2s);
  const BarePeer late(hub, "p9", 9);
  clock->advance(1s);
  BOOST_TEST(is_up("p9"));
}

BOOST_AUTO_TEST_CASE(a_member_has_its_rank_while_it_is_tried_and_no_longer) {
  join({{"p9", "memory://p9"}});
  BOOST_TEST((core().membership().info("p9").value() == WorkerInfo{"p9", 2}));
  seed.die();  // from now on this node lets others in
  const auto admitted = [this](const NodeName& name, std::uint64_t life) {
    BarePeer newcomer(hub, name, life);
    newcomer.connect("m");
    const auto asked = newcomer.ask("m", "membership", join_of(newcomer));
    BOOST_REQUIRE(*asked && (*asked)->ok());
    return (*asked)->value().get<msg::MemberList>().members;
  };
  const auto rank_of = [](const std::vector<msg::Member>& members, const NodeName& name) {
    const auto found = std::ranges::find(members, name, &msg::Member::name);
    return found == members.end() ? -1 : static_cast<int>(found->rank);
  };
  const auto first = admitted("p3", 3);
  BOOST_TEST(rank_of(first, "p9") == 2);
  BOOST_TEST(rank_of(first, "p3") != 2);
  clock->advance(10min);
  const auto second = admitted("p4", 4);
  BOOST_TEST(rank_of(second, "p9") == -1);
}

BOOST_AUTO_TEST_CASE(who_took_the_place_of_a_lost_member_stays_a_member) {
  join({{"p9", "memory://other"}});
  BarePeer other(hub, "other", 7);
  other.connect("m");
  other.say("m", "membership", msg::MemberJoined{5, place_of(other, 3, 5)});
  BOOST_TEST(is_up("other"));
  clock->advance(10min);
  BOOST_TEST((core().membership().info("other").value() == WorkerInfo{"other", 3}));
  for (int tries = 0; tries <= LostMembers::kTries; ++tries) {  // as if those to the lost one had failed now
    core().membership().connect_failed("memory://other", core().error(ErrorCode::name_in_use, "other", "connect", "x"));
    clock->advance(1min);
  }
  seed.say("m", "membership", msg::ShutdownReady{"p1", seed.self().incarnation});
  const auto newcomer = peer("p3", 3);
  const auto asked = newcomer->ask("m", "membership", join_of(*newcomer));
  BOOST_TEST(!seed.take<msg::MemberJoin>().empty());  // passed on: this node does not let nodes in
  BOOST_TEST(!core().membership().wait_for_members(3, clock->now()).has_value());
}

BOOST_AUTO_TEST_CASE(who_was_never_reached_is_given_up) {
  join({{"p9", "memory://p9"}});
  clock->advance(10min);
  const BarePeer late(hub, "p9", 9);
  clock->advance(10min);
  BOOST_TEST(!is_up("p9"));
}

BOOST_AUTO_TEST_CASE(who_was_given_up_and_comes_by_itself_has_been_in_as_long_as_before) {
  join_after_p2();
  clock->advance(10min);
  BarePeer late(hub, "p2", 2);
  late.connect("m");
  late.say("m", "membership", msg::MemberJoined{3, place_of(late, 1, 2)});
  BOOST_TEST((core().membership().info("p2").value() == WorkerInfo{"p2", 1}));
  seed.die();
  const auto newcomer = peer("p3", 3);
  static_cast<void>(newcomer->ask("m", "membership", join_of(*newcomer)));
  BOOST_TEST(late.take<msg::MemberJoin>().size() == 1U);  // passed on
}

BOOST_AUTO_TEST_CASE(who_came_by_itself_is_not_tried_again) {
  join({{"p9", "memory://p9"}});
  {
    BarePeer late(hub, "p9", 9);
    late.connect("m");
    BOOST_TEST(is_up("p9"));
    late.die();
  }
  const BarePeer later(hub, "p9", 10);
  clock->advance(10min);
  BOOST_TEST(!is_up("p9"));
}

BOOST_AUTO_TEST_CASE(two_members_at_one_address_are_not_tried_again) {
  join({{"p8", "memory://p9"}, {"p9", "memory://p9"}});
  const BarePeer late(hub, "p9", 9);
  clock->advance(10min);
  BOOST_TEST(!is_up("p9"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
