#include "actors/references/handle_table.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/assert.h"

namespace troupe {

static std::ostream& operator<<(std::ostream& out, HandleState state) { return out << static_cast<int>(state); }
static std::ostream& operator<<(std::ostream& out, const RRefNotice& notice) {
  static constexpr const char* kNames[] = {"forked ", "deleted ", "acknowledged "};
  return out << kNames[static_cast<int>(notice.kind)] << notice.fork.text() << " to " << notice.to.name;
}

BOOST_AUTO_TEST_SUITE(handle_table)

namespace {

using Kind = RRefNotice::Kind;

const NodeLife kOwner{"ps0", {1, 10}};
const NodeLife kParent{"parent", {1, 20}};
const NodeLife kSelf{"self", {1, 30}};
const NodeLife kChild{"child", {1, 40}};
const RRefId kRRef{"parent", 20, 1};

ForkId of_owner(std::uint64_t serial) { return {"ps0", 10, serial}; }
ForkId of_parent(std::uint64_t serial) { return {"parent", 20, serial}; }
ForkId of_self(std::uint64_t serial) { return {"self", 30, serial}; }

RRefNotice forked(const ForkId& fork) { return {Kind::forked, kOwner, kRRef, fork, "parent"}; }
RRefNotice deleted(const ForkId& fork) { return {Kind::deleted, kOwner, kRRef, fork, {}}; }
RRefNotice acknowledged(const ForkId& fork) { return {Kind::acknowledged, kParent, kRRef, fork, {}}; }

Error error_of(ErrorCode code) {
  Error error;
  error.code = code;
  error.message = "it is so";
  return error;
}

void expect(const RRefNotices& got, const RRefNotices& wanted) {
  BOOST_CHECK_EQUAL_COLLECTIONS(got.begin(), got.end(), wanted.begin(), wanted.end());
}

// Returns the table of a handle that the owner gave: confirmed from the start.
HandleTable table_with_confirmed_handle() {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_owner(1), kOwner}, kOwner), {});
  return table;
}

}  // namespace

// Who is not concerned is not looked for among the handles: there may be many, and peers come and go.
BOOST_AUTO_TEST_CASE(a_life_concerns_a_table_while_it_owns_a_value_or_has_a_child) {
  HandleTable table(kSelf);
  const auto concerned = [&] {
    std::string names;
    for (const NodeLife& life : {kOwner, kParent, kSelf, kChild}) names += table.concerns(life) ? life.name + " " : "";
    return names;
  };
  const RRefId other{"parent", 20, 2};
  BOOST_TEST(concerned() == "");
  expect(table.received({kRRef, of_owner(1), kOwner}, kOwner), {});
  static_cast<void>(table.create(other, kOwner));
  BOOST_TEST(concerned() == "ps0 ");
  const auto first = table.hand_out(kRRef, kChild);
  const auto second = table.hand_out(kRRef, kChild);
  BOOST_TEST(concerned() == "ps0 child ");
  expect(table.acknowledged(kRRef, first.value()), {});
  BOOST_TEST(concerned() == "ps0 child ");
  expect(table.undo(kRRef, second.value()), {});
  expect(table.undo(kRRef, second.value()), {});
  BOOST_TEST(concerned() == "ps0 ");
  expect(table.dropped(kRRef), {deleted(of_owner(1))});
  BOOST_TEST(concerned() == "ps0 ");
  static_cast<void>(table.hand_out(other, kChild));
  expect(table.node_down(kChild, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(concerned() == "ps0 ");
  static_cast<void>(table.hand_out(other, kChild));
  expect(table.node_down(kOwner, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(concerned() == "ps0 ");  // its handle is held
  expect(table.dropped(other), {});
  BOOST_TEST(concerned() == "");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_life_is_that_of_each_handle_whatever_came_before) {
  const NodeLife lives[] = {kOwner, kParent, kChild, {"other", {1, 50}}};
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::minstd_rand random(seed);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    HandleTable table(kSelf);
    std::vector<std::pair<RRefId, ForkId>> handed;
    std::map<RRefId, std::size_t> holds;
    for (std::uint64_t step = 1; step <= 40; ++step) {
      const RRefId rref{"parent", 20, below(6)};
      const NodeLife& owner = lives[rref.serial % 2];
      const NodeLife& to = lives[2 + below(2)];
      switch (below(6)) {
        case 0:
          static_cast<void>(table.received({rref, {owner.name, owner.incarnation.low, step}, owner}, owner));
          ++holds[rref];
          break;
        case 1:
          static_cast<void>(table.received({rref, of_parent(step), owner}, kParent,
                                           owner == kParent ? OwnerMet::yes : OwnerMet::not_yet));
          ++holds[rref];
          break;
        case 2:
        case 3:
          if (auto fork = table.hand_out(rref, to); fork.ok()) handed.emplace_back(rref, fork.value());
          break;
        case 4:
          if (!handed.empty()) {
            const auto& [of, fork] = handed[below(handed.size())];
            static_cast<void>(below(2) == 0 ? table.acknowledged(of, fork) : table.undo(of, fork));
          }
          break;
        default:
          if (holds[rref] > 0) {
            --holds[rref];
            static_cast<void>(table.dropped(rref));
          }
      }
      const NodeLife& event = lives[below(4)];
      HandleTable at_once = table;
      HandleTable by_one = table;
      const Error why = error_of(ErrorCode::peer_down);
      RRefNotices each;
      for (std::uint64_t serial = 0; serial < 6; ++serial) {
        for (RRefNotice& notice : by_one.handle_down({"parent", 20, serial}, event, why)) each.push_back(notice);
      }
      expect(at_once.node_down(event, why), each);
      BOOST_TEST_REQUIRE(at_once.text() == by_one.text(), "seed " << seed << ": " << at_once.text());
      const bool is_reported = table.text().find("owner not met") == std::string::npos;
      BOOST_TEST_REQUIRE((is_reported || !HandleTable(table).node_up(kOwner).empty()),
                         "seed " << seed << ": " << table.text());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_handle_from_the_owner_is_confirmed_from_birth_and_deleted_with_its_last_copy) {
  HandleTable table = table_with_confirmed_handle();
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
  expect(table.dropped(kRRef), {deleted(of_owner(1))});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_of_an_owner_that_is_not_met_yet_is_reported_when_it_is) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent, OwnerMet::not_yet), {});
  BOOST_TEST(table.state(kRRef) == HandleState::pending);
  const auto refused = table.hand_out(kRRef, kChild);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::not_joined));
  expect(table.node_up(kParent), {});
  expect(table.node_up(kOwner), {forked(of_parent(2))});
  expect(table.node_up(kOwner), {});
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
}

BOOST_AUTO_TEST_CASE(a_handle_that_goes_before_its_owner_is_met_is_given_back_to_its_parents) {
  HandleTable table(kSelf);
  for (const std::uint64_t fork : {2, 3})
    expect(table.received({kRRef, of_parent(fork), kOwner}, kParent, OwnerMet::not_yet), {});
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {acknowledged(of_parent(2)), acknowledged(of_parent(3))});
  BOOST_TEST(table.size() == 0U);
  expect(table.node_up(kOwner), {});
}

BOOST_AUTO_TEST_CASE(an_owner_whose_handle_comes_before_the_word_that_it_is_met_hears_of_all) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent, OwnerMet::not_yet), {});
  expect(table.received({kRRef, of_owner(1), kOwner}, kOwner), {forked(of_parent(2))});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
  expect(table.node_up(kOwner), {});
}

BOOST_AUTO_TEST_CASE(a_handle_from_a_user_is_reported_and_pending_until_the_owner_answers) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  BOOST_TEST(table.state(kRRef) == HandleState::pending);
  expect(table.acknowledged(kRRef, of_parent(2)), {});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
}

BOOST_AUTO_TEST_CASE(a_pending_handle_that_is_dropped_is_deleted_when_the_owner_has_answered) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.dropped(kRRef), {});
  BOOST_TEST(!table.is_held(kRRef));
  BOOST_TEST(table.size() == 1U);
  expect(table.acknowledged(kRRef, of_parent(2)), {deleted(of_parent(2))});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(local_copies_share_one_fork_and_further_forks_are_given_back) {
  HandleTable table = table_with_confirmed_handle();
  expect(table.received({kRRef, of_owner(2), kOwner}, kOwner), {deleted(of_owner(2))});
  expect(table.received({kRRef, of_parent(3), kOwner}, kParent), {acknowledged(of_parent(3))});
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {deleted(of_owner(1))});
}

BOOST_AUTO_TEST_CASE(of_two_forks_that_were_pending_together_the_first_confirmed_is_kept) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.received({kRRef, of_parent(3), kOwner}, kParent), {forked(of_parent(3))});
  expect(table.acknowledged(kRRef, of_parent(3)), {});
  expect(table.acknowledged(kRRef, of_parent(2)), {deleted(of_parent(2))});
  BOOST_TEST(table.forks_of(kRRef) == std::vector<ForkId>{of_parent(3)}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_parent_stays_until_the_owner_knows_its_child) {
  HandleTable table = table_with_confirmed_handle();
  const auto fork = table.hand_out(kRRef, kChild);
  BOOST_TEST_REQUIRE(fork.ok());
  BOOST_TEST(table.unacknowledged_count() == 1U);
  expect(table.dropped(kRRef), {});
  expect(table.acknowledged(kRRef, fork.value()), {deleted(of_owner(1))});
  expect(table.acknowledged(kRRef, fork.value()), {});
}

BOOST_AUTO_TEST_CASE(a_hand_over_that_never_left_is_undone) {
  HandleTable table = table_with_confirmed_handle();
  const auto fork = table.hand_out(kRRef, kChild);
  expect(table.dropped(kRRef), {});
  expect(table.undo(kRRef, fork.value()), {deleted(of_owner(1))});
}

BOOST_AUTO_TEST_CASE(a_node_that_calls_itself_needs_no_second_fork) {
  HandleTable table = table_with_confirmed_handle();
  const auto fork = table.hand_out(kRRef, kSelf);
  expect(table.received({kRRef, fork.value(), kOwner}, kSelf), {});
  BOOST_TEST(table.unacknowledged_count() == 0U);
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {deleted(of_owner(1))});
}

BOOST_AUTO_TEST_CASE(a_handle_in_an_undone_call_to_oneself_is_revoked) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_self(1), kOwner}, kSelf), {});
  BOOST_TEST_REQUIRE(table.failure(kRRef).has_value());
  BOOST_TEST((table.failure(kRRef)->code == ErrorCode::ref_revoked));
}

BOOST_AUTO_TEST_CASE(a_revoked_handle_fails_and_is_forgotten_without_a_word) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.revoked(kRRef, of_parent(2), error_of(ErrorCode::ref_revoked)), {});
  BOOST_TEST(table.state(kRRef) == HandleState::failed);
  BOOST_TEST(!table.hand_out(kRRef, kChild).ok());
  expect(table.dropped(kRRef), {});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_with_another_fork_survives_a_revocation) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.received({kRRef, of_owner(1), kOwner}, kOwner), {});
  expect(table.revoked(kRRef, of_parent(2), error_of(ErrorCode::ref_revoked)), {});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
  expect(table.revoked(kRRef, of_parent(9), error_of(ErrorCode::ref_revoked)), {});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
}

BOOST_AUTO_TEST_CASE(a_created_handle_is_usable_at_once_and_confirmed_by_the_owner) {
  HandleTable table(kSelf);
  const ForkId fork = table.create(kRRef, kOwner);
  BOOST_TEST(fork == of_self(1));
  BOOST_TEST(table.state(kRRef) == HandleState::pending);
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  expect(table.acknowledged(kRRef, fork), {});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
}

BOOST_AUTO_TEST_CASE(a_creation_that_timed_out_fails_every_use_and_is_deleted_all_the_same,
                     *boost::unit_test::label("O-34")) {
  HandleTable table(kSelf);
  const ForkId fork = table.create(kRRef, kOwner);
  expect(table.creation_failed(kRRef, error_of(ErrorCode::timeout)), {});
  BOOST_TEST((table.hand_out(kRRef, kChild).error().code == ErrorCode::timeout));
  expect(table.dropped(kRRef), {deleted(fork)});
}

BOOST_AUTO_TEST_CASE(a_creation_that_fails_after_its_handle_was_dropped_is_deleted_at_once) {
  HandleTable table(kSelf);
  const ForkId fork = table.create(kRRef, kOwner);
  expect(table.dropped(kRRef), {});
  expect(table.creation_failed(kRRef, error_of(ErrorCode::timeout)), {deleted(fork)});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_doubtful_fork_is_deleted_with_the_last_handle_also_if_another_fork_is_revoked) {
  HandleTable table(kSelf);
  const ForkId own = table.create(kRRef, kOwner);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.creation_failed(kRRef, error_of(ErrorCode::timeout)), {});
  expect(table.revoked(kRRef, of_parent(2), error_of(ErrorCode::resource_exhausted)), {});
  BOOST_TEST((table.failure(kRRef)->code == ErrorCode::timeout));
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {deleted(own)});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_doubtful_fork_stays_until_the_owner_knows_its_child_also_if_another_fork_is_revoked) {
  HandleTable table(kSelf);
  const ForkId own = table.create(kRRef, kOwner);
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.creation_failed(kRRef, error_of(ErrorCode::timeout)), {});
  expect(table.revoked(kRRef, of_parent(2), error_of(ErrorCode::resource_exhausted)), {});
  expect(table.dropped(kRRef), {});
  expect(table.dropped(kRRef), {});
  expect(table.acknowledged(kRRef, of_self(2)), {deleted(own)});
}

BOOST_AUTO_TEST_CASE(a_doubtful_fork_ends_with_its_owner) {
  HandleTable table(kSelf);
  static_cast<void>(table.create(kRRef, kOwner));
  expect(table.creation_failed(kRRef, error_of(ErrorCode::timeout)), {});
  expect(table.node_down(kOwner, error_of(ErrorCode::peer_down)), {});
  expect(table.dropped(kRRef), {});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_creation_that_never_left_tells_the_owner_that_none_will_come) {
  HandleTable table(kSelf);
  const ForkId fork = table.create(kRRef, kOwner);
  const Error why = error_of(ErrorCode::too_large);
  expect(table.creation_undone(kRRef, why), {{Kind::undone, kOwner, kRRef, fork, {}, why}});
  BOOST_TEST((table.failure(kRRef)->code == ErrorCode::too_large));
  expect(table.dropped(kRRef), {});
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_death_of_the_owner_fails_its_handles_and_releases_the_parents) {
  HandleTable table(kSelf);
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  Error why = error_of(ErrorCode::peer_down);
  why.endpoint = "tcp://127.0.0.1:4000";
  expect(table.node_down(kOwner, why), {acknowledged(of_parent(2))});
  BOOST_TEST_REQUIRE(table.failure(kRRef).has_value());
  const Error error = *table.failure(kRRef);
  BOOST_TEST((error.code == ErrorCode::owner_died));
  BOOST_TEST(error.message == "the owner of RRef parent.1 is gone");
  BOOST_TEST(error.peer == "ps0");
  BOOST_TEST(error.endpoint == "tcp://127.0.0.1:4000");
  BOOST_TEST(error.cause == why.text());
  expect(table.dropped(kRRef), {});
}

BOOST_AUTO_TEST_CASE(
    a_handle_that_arrives_after_the_death_of_its_owner_fails_and_releases_its_parent_when_that_is_said_again) {
  HandleTable table(kSelf);
  expect(table.node_down(kOwner, error_of(ErrorCode::peer_down)), {});
  expect(table.received({kRRef, of_parent(2), kOwner}, kParent), {forked(of_parent(2))});
  expect(table.handle_down(kRRef, kOwner, error_of(ErrorCode::peer_down)), {acknowledged(of_parent(2))});
  BOOST_TEST((table.failure(kRRef)->code == ErrorCode::owner_died));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_life_for_one_handle_touches_no_other) {
  const RRefId other{"parent", 20, 2};
  HandleTable table = table_with_confirmed_handle();
  expect(table.received({other, of_owner(2), kOwner}, kOwner), {});
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  BOOST_TEST(table.hand_out(other, kChild).ok());
  expect(table.handle_down(other, kChild, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(table.unacknowledged_count() == 1U);
  expect(table.handle_down(other, kOwner, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(table.state(other) == HandleState::failed);
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
  expect(table.handle_down({"parent", 20, 3}, kOwner, error_of(ErrorCode::peer_down)), {});
}

BOOST_AUTO_TEST_CASE(the_next_life_of_the_owner_is_another_owner) {
  HandleTable table = table_with_confirmed_handle();
  expect(table.node_down(NodeLife{"ps0", {1, 11}}, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(table.state(kRRef) == HandleState::confirmed);
}

BOOST_AUTO_TEST_CASE(a_child_on_a_node_that_died_holds_nobody_any_longer) {
  HandleTable table = table_with_confirmed_handle();
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  expect(table.dropped(kRRef), {});
  expect(table.node_down(kChild, error_of(ErrorCode::peer_down)), {deleted(of_owner(1))});
  expect(table.received({kRRef, of_owner(2), kOwner}, kOwner), {});
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  expect(table.node_down(kChild, error_of(ErrorCode::peer_down)), {});
  BOOST_TEST(table.unacknowledged_count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_that_is_not_here_cannot_be_handed_on) {
  HandleTable table(kSelf);
  const auto fork = table.hand_out(kRRef, kChild);
  BOOST_TEST_REQUIRE(!fork.ok());
  BOOST_TEST(fork.error().message == "this node holds no handle: RRef parent.1");
}

BOOST_AUTO_TEST_CASE(a_drop_without_a_handle_is_a_bug_and_says_so) {
  HandleTable table(kSelf);
  BOOST_CHECK_EXCEPTION((void)table.dropped(kRRef), detail::BrokenInvariant, [](const detail::BrokenInvariant& error) {
    return std::string_view(error.what()).starts_with("[rref] dropped more often than received: parent.1 (");
  });
}

BOOST_AUTO_TEST_CASE(a_table_tells_its_state_in_one_line) {
  HandleTable table = table_with_confirmed_handle();
  BOOST_TEST(table.hand_out(kRRef, kChild).ok());
  BOOST_TEST(table.text() == "parent.1 of ps0: 1 held, confirmed ps0.1, handed self.1 to child");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

namespace troupe::detail {
static std::ostream& operator<<(std::ostream& out, const ForkId& fork) { return out << fork.text(); }
}  // namespace troupe::detail
