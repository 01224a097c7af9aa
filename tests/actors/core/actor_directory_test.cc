#include "actors/core/actor_directory.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace troupe::detail {
namespace {

const Peer kTrainerPeer{"trainer", {1, 10}, {}};
const RRefId kFirst{"trainer", 10, 1};
const RRefId kOfOther{"worker", 20, 1};

NodeLife life_of(const Peer& peer) { return {peer.name, peer.incarnation}; }

/// Remembers one ended id.
struct OneEnded {
  void add(const RRefId& id) { last = id; }
  void drop_creator(const NodeLife&) { last.reset(); }
  [[nodiscard]] Recall recall(const RRefId& id) const {
    if (last == id) return Recall::ended;
    return last && id.serial < last->serial ? Recall::in_doubt : Recall::unknown;
  }
  std::optional<RRefId> last;
};

struct Directory {
  using Actor = std::shared_ptr<const RRefId>;

  Directory() { BOOST_REQUIRE(lives.begin(kTrainerPeer)); }

  Lives lives;
  int made = 0;
  ActorDirectory<RRefId, Actor, OneEnded> actors{
      lives, [this](const RRefId& id) { return ++made, std::make_shared<const RRefId>(id); }};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(actor_directory, Directory)

BOOST_AUTO_TEST_CASE(an_actor_is_made_once_and_found_until_it_ends) {
  BOOST_TEST(actors.find(kFirst) == nullptr);
  const Actor first = actors.enter(kFirst).actor;
  BOOST_REQUIRE(first != nullptr);
  BOOST_TEST(actors.enter(kFirst).actor == first);
  BOOST_TEST(actors.find(kFirst) == first);
  BOOST_TEST(made == 1);
  BOOST_TEST(actors.end(kFirst) == first);
  BOOST_TEST(actors.end(kFirst) == nullptr);
  BOOST_TEST(actors.size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_id_has_its_actor_until_it_ends_and_no_other) {
  const Actor first = actors.enter(kFirst).actor;
  const Actor other = actors.enter(kOfOther).actor;
  BOOST_TEST(actors.has(kFirst, first));
  BOOST_TEST(!actors.has(kFirst, other));
  BOOST_TEST(actors.end(kFirst) == first);
  BOOST_TEST(!actors.has(kFirst, first));
  BOOST_TEST(!actors.has(kFirst, nullptr));
}

BOOST_AUTO_TEST_CASE(an_actor_is_forgotten_unless_a_message_is_on_its_way_to_it) {
  BOOST_TEST(!actors.forget(kFirst, 0));
  const Actor first = actors.enter(kFirst).actor;  // for its first message
  BOOST_TEST(!actors.forget(kFirst, 0));
  BOOST_TEST(actors.enter(kFirst).actor == first);
  BOOST_TEST(actors.find(kFirst) == first);
  BOOST_TEST(actors.all().size() == 1U);
  BOOST_TEST(!actors.forget(kFirst, 3));
  BOOST_TEST(actors.forget(kFirst, 4));
  BOOST_TEST(actors.size() == 0U);
  BOOST_TEST(actors.enter(kFirst).actor != first);
  BOOST_TEST(made == 2);
  BOOST_TEST(actors.forget(kFirst, 1));
}

BOOST_AUTO_TEST_CASE(what_a_peers_word_makes_counts_for_it_until_it_ends) {
  PeerQuota quota("ps0", "values", "peer.owners_max", 1);
  const auto first = actors.enter(kFirst, life_of(kTrainerPeer), quota);
  BOOST_REQUIRE(first.actor != nullptr);
  BOOST_TEST(actors.enter(kFirst, life_of(kTrainerPeer), quota).actor == first.actor);  // already present: no change
  BOOST_TEST(quota.counts().at("trainer") == 1U);
  const auto refused = actors.enter(kOfOther, life_of(kTrainerPeer), quota);
  BOOST_TEST(refused.actor == nullptr);
  BOOST_REQUIRE(refused.refused.has_value());
  BOOST_TEST((refused.refused->code == ErrorCode::resource_exhausted));
  BOOST_TEST(made == 1);
  BOOST_TEST(!actors.has_ended(kOfOther));
  BOOST_TEST(actors.enter(kOfOther, life_of(kTrainerPeer), quota, Refusal::never).actor != nullptr);
  BOOST_TEST(quota.counts().at("trainer") == 2U);
  actors.end(kFirst);
  BOOST_TEST(!actors.enter(kFirst, life_of(kTrainerPeer), quota).refused);  // ended, not refused
  BOOST_TEST(quota.counts().at("trainer") == 1U);
  BOOST_TEST(actors.end_created_by({"worker", {2, 20}}).size() == 1U);
  BOOST_TEST(quota.counts().empty());
}

BOOST_AUTO_TEST_CASE(who_keeps_to_no_rules_is_told_of_by_the_words_that_cannot_be_refused) {
  PeerQuota quota("ps0", "values", "peer.owners_max", 0);
  std::vector<PeerQuota::Token> tokens;
  while (tokens.size() < PeerQuota::kUnrefusedMax - 1)
    tokens.push_back(quota.take_unrefused(life_of(kTrainerPeer)).token);
  BOOST_TEST(!actors.enter(kFirst, life_of(kTrainerPeer), quota, Refusal::never).is_too_much);
  BOOST_TEST(actors.enter(kOfOther, life_of(kTrainerPeer), quota, Refusal::never).is_too_much);
}

BOOST_AUTO_TEST_CASE(no_word_makes_an_actor_that_has_ended) {
  BOOST_TEST(actors.enter(kFirst).actor != nullptr);
  BOOST_TEST(!actors.has_ended(kFirst));
  actors.end(kFirst);
  BOOST_TEST(actors.has_ended(kFirst));
  BOOST_TEST(actors.enter(kFirst).actor == nullptr);
}

BOOST_AUTO_TEST_CASE(one_that_may_have_ended_is_made_and_said_to_be_in_doubt_once) {
  actors.end({"trainer", 10, 5});
  const auto entered = actors.enter(kFirst);
  BOOST_TEST(entered.actor != nullptr);
  BOOST_TEST(entered.in_doubt);
  BOOST_TEST(!actors.enter(kFirst).in_doubt);
}

BOOST_AUTO_TEST_CASE(no_word_makes_an_actor_whose_creator_is_gone_even_before_the_directory_hears_of_it) {
  lives.end(life_of(kTrainerPeer), Error{});
  BOOST_TEST(actors.enter(kFirst).actor == nullptr);
  BOOST_TEST(actors.has_ended(kFirst));
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_life_takes_out_what_it_created_and_nothing_else) {
  const Actor first = actors.enter(kFirst).actor;
  const Actor other = actors.enter(kOfOther).actor;
  const Actor of_next_life = actors.enter({"trainer", 11, 1}).actor;
  lives.end(life_of(kTrainerPeer), Error{});
  const auto ended = actors.end_created_by(life_of(kTrainerPeer));
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].second == first);
  BOOST_TEST(actors.find(kOfOther) == other);
  BOOST_TEST(actors.find({"trainer", 11, 1}) == of_next_life);
}

BOOST_AUTO_TEST_CASE(what_ended_before_its_creator_is_not_remembered_either) {
  actors.end({"trainer", 10, 5});
  lives.end(life_of(kTrainerPeer), Error{});
  BOOST_TEST(actors.end_created_by(life_of(kTrainerPeer)).empty());
  BOOST_TEST(!actors.enter({"trainer", 9, 0}).in_doubt);  // OneEnded would say so of serials below 5
}

BOOST_AUTO_TEST_CASE(what_ends_after_its_creator_needs_no_memory) {
  BOOST_TEST(actors.enter(kFirst).actor != nullptr);
  lives.end(life_of(kTrainerPeer), Error{});
  actors.creator_gone(life_of(kTrainerPeer));
  BOOST_TEST(actors.find(kFirst) != nullptr);  // others may use the actor that it created
  actors.end(kFirst);
  BOOST_TEST(!actors.enter({"trainer", 9, 0}).in_doubt);  // OneEnded would say so of serials below 1
}

BOOST_AUTO_TEST_CASE(nothing_begins_after_the_stop_and_the_first_reason_stays) {
  BOOST_TEST(actors.begin(kFirst) != nullptr);
  Error why;
  why.code = ErrorCode::shutting_down;
  actors.refuse(why);
  actors.refuse(Error{});
  BOOST_TEST((actors.stopped()->code == ErrorCode::shutting_down));
  BOOST_TEST(actors.begin(kOfOther) == nullptr);
  BOOST_TEST(actors.enter(kOfOther).actor == nullptr);
  BOOST_TEST(actors.find(kFirst) != nullptr);
  BOOST_TEST(actors.take_all().size() == 1U);
  BOOST_TEST(actors.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
