#include "actors/references/fork_table.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <ostream>
#include <stdexcept>

#include "actors/core/assert.h"

namespace troupe {

static std::ostream& operator<<(std::ostream& out, ForkOutcome outcome) { return out << static_cast<int>(outcome); }

BOOST_AUTO_TEST_SUITE(fork_table)

namespace {

const NodeLife kTrainer{"trainer", {1, 10}};
const NodeLife kWorker{"worker", {1, 20}};
const RRefId kRRef{"trainer", 10, 1};

ForkId of_trainer(std::uint64_t serial) { return {"trainer", 10, serial}; }
ForkId of_owner(std::uint64_t serial) { return {"ps0", 30, serial}; }

// Returns the table of a value that the trainer created on ps0 and holds with its fork 1.
ForkTable created_table() {
  ForkTable table(kRRef, "ps0");
  BOOST_TEST_REQUIRE(table.created(of_trainer(1), kTrainer) == ForkOutcome::known);
  return table;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_ends_when_its_last_fork_is_deleted) {
  ForkTable table = created_table();
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  BOOST_TEST(table.fork_count() == 2U);
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  BOOST_TEST(!table.ended());
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(the_token_of_a_fork_is_kept_as_long_as_the_fork_is_counted_or_awaited) {
  const auto token = std::make_shared<int>();
  ForkTable table(kRRef, "ps0");
  BOOST_TEST(table.is_new(of_trainer(2), kWorker));
  BOOST_TEST(table.forked(of_trainer(2), kWorker, token) == ForkOutcome::known);
  BOOST_TEST(!table.is_new(of_trainer(2), kWorker));
  BOOST_TEST(token.use_count() == 2);
  BOOST_TEST(table.forked(of_trainer(2), kWorker, token) == ForkOutcome::known);  // a duplicate: counted once
  BOOST_TEST(token.use_count() == 2);
  BOOST_TEST(table.created(of_trainer(1), kTrainer, token) == ForkOutcome::known);
  BOOST_TEST(table.hand_out(of_owner(1), kWorker, token));
  BOOST_TEST(token.use_count() == 4);
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(!table.is_new(of_trainer(2), kWorker));  // it is dead
  table.undo(of_owner(1));
  BOOST_TEST(token.use_count() == 2);
  BOOST_TEST(table.is_new(of_trainer(3), kWorker));
  BOOST_TEST(table.deleted(of_trainer(3), kWorker, token));  // it awaits its fork
  BOOST_TEST(!table.is_new(of_trainer(3), kWorker));
  BOOST_TEST(token.use_count() == 3);
  BOOST_TEST(table.forked(of_trainer(3), kWorker, token) == ForkOutcome::revoked);
  BOOST_TEST(token.use_count() == 2);
  table.drop_node(kTrainer);
  BOOST_TEST(token.use_count() == 1);
  BOOST_TEST(!table.is_new(of_trainer(4), kWorker));  // the value is gone
}

BOOST_AUTO_TEST_CASE(a_new_table_has_not_ended) {
  const ForkTable table(kRRef, "ps0");
  BOOST_TEST(!table.ended());
  BOOST_TEST(!table.is_created());
}

BOOST_AUTO_TEST_CASE(a_value_does_not_end_before_its_creating_call_came) {
  ForkTable table(kRRef, "ps0");
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(!table.ended());
  BOOST_TEST(table.created(of_trainer(1), kTrainer) == ForkOutcome::known);
  BOOST_TEST(!table.ended());
}

BOOST_AUTO_TEST_CASE(a_value_whose_creator_died_before_the_creating_call_came_ends_with_its_last_fork) {
  ForkTable table(kRRef, "ps0");
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  table.drop_node(kTrainer);
  BOOST_TEST(!table.ended());
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_delete_that_overtakes_its_fork_is_remembered_until_the_fork_comes) {
  ForkTable table = created_table();
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  BOOST_TEST(!table.ended());  // fork 2 is in flight: a new table for it would never end
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::revoked);
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_delete_that_overtakes_the_creation_ends_the_value_when_the_creation_comes) {
  ForkTable table(kRRef, "ps0");
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  BOOST_TEST(!table.ended());
  BOOST_TEST(table.created(of_trainer(1), kTrainer) == ForkOutcome::revoked);
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_fork_repeated_after_its_delete_is_not_counted_again) {
  ForkTable table = created_table();
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  BOOST_TEST(table.fork_count() == 2U);
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::revoked);
  BOOST_TEST(table.fork_count() == 1U);
}

BOOST_AUTO_TEST_CASE(the_last_256_deleted_forks_are_remembered) {
  ForkTable table = created_table();
  for (std::uint64_t serial = 2; serial <= 258; ++serial) {  // 257 forks
    BOOST_TEST_REQUIRE(table.forked(of_trainer(serial), kWorker) == ForkOutcome::known);
    BOOST_TEST_REQUIRE(table.deleted(of_trainer(serial), kWorker));
  }
  BOOST_TEST(table.forked(of_trainer(3), kWorker) == ForkOutcome::revoked);
  BOOST_TEST(table.forked(of_trainer(258), kWorker) == ForkOutcome::revoked);
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);  // forgotten: 257 - 256 = 1
}

BOOST_AUTO_TEST_CASE(a_fork_is_deleted_only_by_its_holder) {
  ForkTable table = created_table();
  BOOST_TEST(!table.deleted(of_trainer(1), kWorker));
  BOOST_TEST(table.is_live(of_trainer(1)));
  BOOST_TEST(table.forked(of_trainer(1), kWorker) == ForkOutcome::refused);
}

BOOST_AUTO_TEST_CASE(another_life_of_the_holder_has_no_say) {
  ForkTable table = created_table();
  BOOST_TEST(!table.deleted(of_trainer(1), NodeLife{"trainer", {1, 11}}));
  BOOST_TEST(table.fork_count() == 1U);
}

BOOST_AUTO_TEST_CASE(the_death_of_a_node_deletes_its_forks_and_those_that_came_after_it_when_it_is_said_again) {
  ForkTable table = created_table();
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::known);
  table.drop_node(kTrainer);
  BOOST_TEST(table.fork_count() == 1U);
  BOOST_TEST(table.forked(of_trainer(3), kTrainer) == ForkOutcome::known);
  BOOST_TEST(table.deleted(of_trainer(4), kTrainer));
  table.drop_node(kTrainer);
  BOOST_TEST(table.text() == "created, live trainer.2 on worker");
  table.drop_node(kWorker);
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(the_death_of_a_node_ends_the_wait_for_its_overtaken_forks) {
  ForkTable table = created_table();
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  table.drop_node(kWorker);
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_fork_handed_out_by_the_owner_counts_before_it_leaves) {
  ForkTable table(RRefId{"ps0", 30, 1}, "ps0");
  BOOST_TEST(table.hold());
  BOOST_TEST(table.hand_out(of_owner(1), kWorker));
  table.release();
  BOOST_TEST(!table.ended());
  BOOST_TEST(table.deleted(of_owner(1), kWorker));
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_fork_of_the_owner_that_never_left_is_undone) {
  ForkTable table(RRefId{"ps0", 30, 1}, "ps0");
  BOOST_TEST(table.hold());
  BOOST_TEST(table.hand_out(of_owner(1), kWorker));
  table.undo(of_owner(1));
  BOOST_TEST(table.fork_count() == 0U);
  table.release();
  BOOST_TEST(table.ended());
  BOOST_TEST(!table.hand_out(of_owner(2), kWorker));
}

BOOST_AUTO_TEST_CASE(a_fork_handed_out_to_a_life_that_is_over_goes_when_that_is_said_again) {
  ForkTable table(RRefId{"ps0", 30, 1}, "ps0");
  BOOST_TEST(table.hold());
  table.drop_node(kWorker);
  BOOST_TEST(table.hand_out(of_owner(1), kWorker));
  BOOST_TEST(table.hand_out(of_owner(2), NodeLife{"worker", {1, 21}}));  // the node's next life
  table.drop_node(kWorker);
  BOOST_TEST(table.fork_count() == 1U);
}

BOOST_AUTO_TEST_CASE(a_handle_that_comes_home_releases_its_parent_and_leaves_no_fork) {
  ForkTable table = created_table();
  BOOST_TEST(table.hold());
  BOOST_TEST(table.came_home(of_trainer(2)));
  BOOST_TEST(table.fork_count() == 1U);
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  BOOST_TEST(!table.ended());
  table.release();
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_handle_that_the_owner_sends_to_itself_has_nobody_to_release) {
  ForkTable table(RRefId{"ps0", 30, 1}, "ps0");
  BOOST_TEST(table.hold());
  BOOST_TEST(table.hand_out(of_owner(1), NodeLife{"ps0", {1, 30}}));
  BOOST_TEST(table.hold());
  BOOST_TEST(!table.came_home(of_owner(1)));
  BOOST_TEST(table.fork_count() == 0U);
}

BOOST_AUTO_TEST_CASE(the_end_is_final) {
  ForkTable table = created_table();
  BOOST_TEST(table.deleted(of_trainer(1), kTrainer));
  BOOST_TEST(!table.hold());
  BOOST_TEST(table.forked(of_trainer(2), kWorker) == ForkOutcome::revoked);
  BOOST_TEST(table.deleted(of_trainer(3), kWorker));
  BOOST_TEST(table.ended());
}

BOOST_AUTO_TEST_CASE(a_release_without_a_hold_is_a_bug_and_says_so) {
  ForkTable table = created_table();
  BOOST_CHECK_EXCEPTION(table.release(), detail::BrokenInvariant, [](const detail::BrokenInvariant& error) {
    return std::string_view(error.what()).starts_with("[rref] released more often than held: trainer.1 (");
  });
}

BOOST_AUTO_TEST_CASE(a_table_tells_its_state_in_one_line) {
  ForkTable table = created_table();
  BOOST_TEST(table.hold());
  BOOST_TEST(table.deleted(of_trainer(2), kWorker));
  BOOST_TEST(table.text() == "created, 1 held here, live trainer.1 on trainer, awaited trainer.2 on worker");
}

BOOST_AUTO_TEST_CASE(an_id_without_a_table_has_ended_if_its_value_has_or_is_of_the_owners_own_making) {
  EndedRRefs ended("ps0");
  const auto is_over = [&](const RRefId& rref) { return ended.recall(rref) == detail::Recall::ended; };
  BOOST_TEST(!is_over(kRRef));                // its creation may be in flight
  BOOST_TEST(is_over(RRefId{"ps0", 30, 7}));  // this node would have a table
  ended.add(kRRef);
  BOOST_TEST(is_over(kRRef));
  BOOST_TEST(!is_over(RRefId{"trainer", 10, 2}));
  BOOST_TEST(!is_over(RRefId{"trainer", 11, 1}));
}

BOOST_AUTO_TEST_CASE(the_memory_of_ended_values_is_bounded) {
  EndedRRefs ended("ps0");
  for (std::uint64_t serial = 0; serial <= EndedRRefs::kRememberedMax; ++serial) ended.add({"trainer", 10, serial});
  BOOST_TEST((ended.recall({"trainer", 10, 0}) == detail::Recall::unknown));
  BOOST_TEST((ended.recall({"trainer", 10, 1}) == detail::Recall::ended));
  ended.drop_creator(kTrainer);
  BOOST_TEST((ended.recall({"trainer", 10, 1}) == detail::Recall::unknown));
}

BOOST_AUTO_TEST_CASE(values_of_a_creator_that_is_gone_leave_their_room_to_those_of_others) {
  EndedRRefs ended("ps0");
  const auto is_over = [&](const RRefId& rref) { return ended.recall(rref) == detail::Recall::ended; };
  const std::uint64_t half = EndedRRefs::kRememberedMax / 2;
  for (std::uint64_t serial = 0; serial < half; ++serial) {
    ended.add({"trainer", 10, serial});
    ended.add({"worker", 20, serial});
  }
  ended.drop_creator({"trainer", {1, 11}});  // another life
  BOOST_TEST(is_over(RRefId{"trainer", 10, 0}));
  ended.drop_creator(kTrainer);
  BOOST_TEST(!is_over(RRefId{"trainer", 10, half - 1}));
  for (std::uint64_t serial = half; serial < 2 * half; ++serial) ended.add({"worker", 20, serial});
  BOOST_TEST(is_over(RRefId{"worker", 20, 0}));
  ended.add({"worker", 20, 2 * half});
  BOOST_TEST(!is_over(RRefId{"worker", 20, 0}));
  BOOST_TEST(is_over(RRefId{"worker", 20, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
