#include "actors/membership/roster.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(roster)

using boost::unit_test::label;
using Ranks = std::map<std::string, std::uint32_t>;

msg::MemberJoin join(const NodeName& name, std::optional<std::uint32_t> rank, std::uint32_t world_size = 0,
                     std::uint64_t life = 1) {
  return {name, {life, 0}, "ipc://@" + name, role_of_name(name), rank, world_size};
}

std::function<bool(const NodeName&)> among(std::set<NodeName> living) {
  return [living = std::move(living)](const NodeName& name) { return living.contains(name); };
}

std::string refusal(Roster& roster, const msg::MemberJoin& newcomer) {
  const auto error = roster.admit(newcomer);
  BOOST_REQUIRE(error);
  return std::string(name_of(error->code)) + ": " + error->message;
}

Ranks ranks(const Roster& roster) {
  Ranks ranks;
  for (const msg::Member& member : roster.members()) ranks[member.name] = member.rank;
  return ranks;
}

BOOST_AUTO_TEST_CASE(role_is_the_name_without_its_index) {
  BOOST_TEST(role_of_name("trainer12") == "trainer");
  BOOST_TEST(role_of_name("ps") == "ps");
  BOOST_TEST(role_of_name("gpu0-worker3") == "gpu0-worker");
  BOOST_TEST(role_of_name("42") == "42");
}

BOOST_AUTO_TEST_CASE(dynamic_world_gives_the_lowest_free_rank_by_arrival) {
  Roster roster;
  BOOST_TEST(!roster.admit(join("c", {})));
  BOOST_TEST(!roster.admit(join("x", 2)));
  BOOST_TEST(!roster.admit(join("a", {})));
  BOOST_TEST(!roster.admit(join("b", {})));
  BOOST_TEST((ranks(roster) == Ranks{{"c", 0}, {"a", 1}, {"x", 2}, {"b", 3}}));
  BOOST_TEST(roster.complete());
}

// One that comes back may be the node through which the others do.
std::string taken(Roster& roster) {
  std::string text;
  for (const msg::Member& member : roster.take_newcomers())
    text += member.name + ":" + std::to_string(member.rank) + " ";
  return text;
}

BOOST_AUTO_TEST_CASE(newcomers_are_those_that_got_their_ranks_since_the_last_were_taken) {
  Roster roster;
  roster.open(3);
  BOOST_TEST(!roster.admit(join("a", 2, 3)));
  BOOST_TEST(taken(roster) == "a:2 ");
  BOOST_TEST(!roster.admit(join("b", {}, 3)));
  BOOST_TEST(taken(roster) == "");
  BOOST_TEST(!roster.admit(join("c", 1, 3)));
  BOOST_TEST(taken(roster) == "b:0 c:1 ");
  BOOST_TEST(roster.learn(*roster.find("b")));
  BOOST_TEST(!roster.admit(join("b", {}, 3)));  // the same life again
  BOOST_TEST(taken(roster) == "");
  BOOST_TEST(!roster.admit(join("b", {}, 3, 2)));
  BOOST_TEST(roster.remove("b", {2, 0}));
  BOOST_TEST(taken(roster) == "");
}

// In seconds: each newcomer costs the same, however many are in.
BOOST_AUTO_TEST_CASE(twenty_thousand_are_let_in_and_the_rank_of_one_that_is_gone_is_the_next) {
  constexpr std::uint32_t kMany = 20'000;
  Roster roster;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    const NodeName name = "n" + std::to_string(i);
    BOOST_TEST_REQUIRE(!roster.admit(join(name, {})));
    BOOST_TEST_REQUIRE(roster.complete());
    BOOST_TEST_REQUIRE(roster.find(name)->rank == i);
    BOOST_TEST_REQUIRE(roster.learn(*roster.find("n0")));
  }
  for (const char* name : {"n7", "n3"}) BOOST_TEST(roster.remove(name, {1, 0}));
  for (const char* name : {"x", "y", "z"}) BOOST_TEST(!roster.admit(join(name, {})));
  BOOST_TEST(roster.find("x")->rank == 3U);
  BOOST_TEST(roster.find("y")->rank == 7U);
  BOOST_TEST(roster.find("z")->rank == kMany);
}

BOOST_AUTO_TEST_CASE(world_that_was_complete_keeps_to_its_size_and_gives_free_ranks_at_once) {
  Roster roster;
  roster.keep_to(3);
  BOOST_TEST(roster.learn({"b", {1, 0}, "ipc://@b", "b", 1, 2}));
  BOOST_TEST(!roster.admit(join("a", {}, 3)));
  BOOST_TEST(roster.complete());
  BOOST_TEST((ranks(roster) == Ranks{{"a", 0}, {"b", 1}}));
  BOOST_TEST(refusal(roster, join("c", 3, 3)) == "bad_argument: c wants rank 3: out of range in a world of 3");
  BOOST_TEST(refusal(roster, join("c", {}, 4)) == "bad_argument: c expects a world of 4, this is one of 3");
  BOOST_TEST(!roster.admit(join("c", {}, 3)));
  BOOST_TEST(refusal(roster, join("d", {}, 3)) == "resource_exhausted: the world of 3 is complete");
}

BOOST_AUTO_TEST_CASE(static_world_gives_what_nobody_wanted_when_it_is_complete) {
  Roster roster;
  roster.open(3);
  BOOST_TEST(!roster.admit(join("c", {}, 3)));
  BOOST_TEST(!roster.admit(join("b", {}, 3)));
  BOOST_TEST(!roster.complete());
  BOOST_TEST(roster.find("c") == nullptr);
  BOOST_TEST(!roster.admit(join("a", 0, 3)));
  BOOST_TEST(roster.complete());
  BOOST_TEST((ranks(roster) == Ranks{{"a", 0}, {"c", 1}, {"b", 2}}));
}

BOOST_AUTO_TEST_CASE(rank_that_is_taken_or_out_of_range_is_refused) {
  Roster roster;
  roster.open(3);
  BOOST_TEST(!roster.admit(join("a", 1, 3)));
  BOOST_TEST(refusal(roster, join("b", 1, 3)) == "bad_argument: b wants rank 1: a has it");
  BOOST_TEST(refusal(roster, join("b", 3, 3)) == "bad_argument: b wants rank 3: out of range in a world of 3");
  BOOST_TEST(!roster.admit(join("b", 2, 3)));
}

BOOST_AUTO_TEST_CASE(world_of_another_size_and_a_complete_one_refuse, *label("I-25")) {
  Roster roster;
  roster.open(1);
  BOOST_TEST(refusal(roster, join("a", {}, 0)) == "bad_argument: a expects a world of 0, this is one of 1");
  BOOST_TEST(!roster.admit(join("a", {}, 1)));
  BOOST_TEST(refusal(roster, join("b", {}, 1)) == "resource_exhausted: the world of 1 is complete");
}

BOOST_AUTO_TEST_CASE(same_life_again_changes_nothing_and_a_new_one_keeps_the_rank) {
  Roster roster;
  BOOST_TEST(!roster.admit(join("a", {})));
  BOOST_TEST(!roster.admit(join("b", {})));
  const std::uint64_t epoch = roster.epoch();
  BOOST_TEST(!roster.admit(join("b", {})));
  BOOST_TEST(roster.epoch() == epoch);
  BOOST_TEST(!roster.admit(join("b", {}, 0, 2)));
  BOOST_TEST((ranks(roster) == Ranks{{"a", 0}, {"b", 1}}));
  BOOST_TEST((roster.find("b")->incarnation == Incarnation{2, 0}));
  BOOST_TEST(roster.epoch() == epoch + 1);
}

BOOST_AUTO_TEST_CASE(rank_of_who_is_gone_is_free_again) {
  Roster roster;
  for (const char* name : {"a", "b", "c"}) BOOST_TEST(!roster.admit(join(name, {})));
  BOOST_TEST(!roster.remove("b", {9, 9}));  // another life
  BOOST_TEST(ranks(roster).size() == 3U);
  BOOST_TEST(roster.remove("b", {1, 0}));
  BOOST_TEST(!roster.admit(join("d", {})));
  BOOST_TEST((ranks(roster) == Ranks{{"a", 0}, {"d", 1}, {"c", 2}}));
  BOOST_TEST(roster.remove("d", {1, 0}));
  BOOST_TEST(!roster.admit(join("e", 1)));
}

BOOST_AUTO_TEST_CASE(whoever_has_been_in_longest_lets_others_in) {
  Roster first;
  for (const char* name : {"z", "a", "b"}) BOOST_TEST(!first.admit(join(name, {})));
  Roster second;
  for (const msg::Member& member : first.members()) BOOST_TEST(second.learn(member));
  for (const Roster* roster : {&first, &second}) {
    BOOST_TEST(roster->coordinator(among({"a", "b", "z"})).value() == "z");
    BOOST_TEST(roster->coordinator(among({"a", "b"})).value() == "a");
    BOOST_TEST(!roster->coordinator(among({"unknown"})));
    std::size_t asked = 0;
    BOOST_TEST(roster->coordinator([&asked](const NodeName&) { return ++asked > 0; }).value() == "z");
    BOOST_TEST(asked == 1U);
  }
  BOOST_TEST(second.remove("z", {1, 0}));
  BOOST_TEST(!second.admit(join("c", {})));  // continues after the first roster's last epoch
  BOOST_TEST(second.find("c")->epoch == 4U);
  BOOST_TEST(second.find("c")->rank == 0U);
}

BOOST_AUTO_TEST_CASE(news_of_an_earlier_life_is_no_news) {
  Roster roster;
  BOOST_TEST(roster.learn({"a", {2, 0}, "ipc://@a", "a", 4, 7}));
  BOOST_TEST(!roster.learn({"a", {1, 0}, "ipc://@old", "a", 1, 3}));
  BOOST_TEST(roster.find("a")->rank == 4U);
  BOOST_TEST(roster.epoch() == 7U);
}

const auto kNobodyIsLost = [](const NodeName&) { return false; };

/// "b" has been let in by "a".
Roster of_two() {
  Roster roster;
  BOOST_TEST(roster.learn({"a", {1, 0}, "ipc://@a", "a", 0, 1}));
  BOOST_TEST(roster.learn({"b", {1, 0}, "ipc://@b", "b", 1, 2}));
  return roster;
}

/// Returns the place of "c" after it says that of itself to "b"; nullopt if it has none.
std::optional<msg::Member> said(Roster& roster, std::uint32_t rank, std::uint64_t epoch, std::uint64_t life = 1) {
  return roster.learn_from_itself({"c", {life, 0}, "ipc://@c", "c", rank, epoch}, kNobodyIsLost);
}

BOOST_AUTO_TEST_CASE(who_was_let_in_elsewhere_has_the_place_it_says_and_keeps_it) {
  Roster roster = of_two();
  BOOST_TEST(said(roster, 2, 3).value().rank == 2U);
  BOOST_TEST(roster.epoch() == 3U);
  BOOST_TEST(said(roster, 7, 9).value().rank == 2U);
  BOOST_TEST(roster.find("c")->epoch == 3U);
  BOOST_TEST(said(roster, 3, 4, 2).value().rank == 3U);  // its next life
  BOOST_TEST(roster.learn({"c", {2, 0}, "ipc://@c", "c", 4, 4}));
  BOOST_TEST(roster.find("c")->rank == 4U);  // who lets nodes in says otherwise
}

BOOST_AUTO_TEST_CASE(nobody_has_the_rank_of_another_by_saying_so, *label("attack")) {
  Roster roster = of_two();
  BOOST_TEST(!said(roster, 0, 3));
  BOOST_TEST(!said(roster, 1, 3));
  BOOST_TEST((ranks(roster) == Ranks{{"a", 0}, {"b", 1}}));
  const auto a_is_lost = [](const NodeName& name) { return name == "a"; };
  BOOST_TEST(roster.learn_from_itself({"c", {1, 0}, "ipc://@c", "c", 0, 3}, a_is_lost).has_value());
}

BOOST_AUTO_TEST_CASE(next_life_of_who_was_lost_leaves_its_rank_to_who_has_taken_it) {
  Roster roster;
  for (const char* name : {"a", "b"}) BOOST_TEST(!roster.admit(join(name, {})));
  const auto a_is_lost = [](const NodeName& name) { return name == "a"; };
  BOOST_TEST(roster.learn_from_itself({"c", {1, 0}, "ipc://@c", "c", 0, 3}, a_is_lost).has_value());
  BOOST_TEST(refusal(roster, join("a", 0, 0, 2)) == "bad_argument: a wants rank 0: c has it");
  BOOST_TEST(!roster.admit(join("a", {}, 0, 2)));
  BOOST_TEST((ranks(roster) == Ranks{{"c", 0}, {"b", 1}, {"a", 2}}));
}

BOOST_AUTO_TEST_CASE(epochs_do_not_end_because_a_member_says_so, *label("attack")) {
  Roster roster = of_two();
  BOOST_TEST(!said(roster, 2, std::numeric_limits<std::uint64_t>::max()));
  BOOST_TEST(!said(roster, 2, 2 + Roster::kEpochsAheadMax + 1));
  BOOST_TEST(roster.epoch() == 2U);
  BOOST_TEST(said(roster, 2, 2 + Roster::kEpochsAheadMax).has_value());
}

BOOST_AUTO_TEST_CASE(who_asked_and_has_no_rank_yet_gets_none_by_saying_so, *label("attack")) {
  Roster roster;
  roster.open(3);
  BOOST_TEST(!roster.admit(join("b", {}, 3)));
  BOOST_TEST(!roster.admit(join("c", {}, 3)));
  BOOST_TEST(!said(roster, 0, 9));
  BOOST_TEST(roster.find("c") == nullptr);
}

BOOST_AUTO_TEST_CASE(two_that_were_let_in_at_once_agree_who_lets_nodes_in) {
  // Two members let them in, each before it knew of the other's: both have epoch 4, and each hears of the other from
  // it.
  for (const char* own : {"d", "e"}) {
    Roster roster;
    for (const char* name : {"d", "e"}) {
      const std::uint32_t rank = name == std::string("d") ? 3 : 4;
      const msg::Member member{name, {1, 0}, "ipc://@" + std::string(name), "c", rank, 4};
      if (name == std::string(own)) BOOST_TEST(roster.learn(member));
      else BOOST_TEST(roster.learn_from_itself(member, kNobodyIsLost).has_value());
    }
    BOOST_TEST(roster.coordinator(among({"d", "e"})).value() == "d");
  }
}

BOOST_AUTO_TEST_CASE(what_was_known_before_a_node_is_in_is_forgotten) {
  Roster roster;
  BOOST_TEST(said(roster, 2, 9).value().epoch == 9U);
  BOOST_TEST(roster.forget().size() == 1U);
  BOOST_TEST(roster.members().empty());
  BOOST_TEST(roster.epoch() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
