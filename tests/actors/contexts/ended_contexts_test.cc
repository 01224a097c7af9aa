#include "actors/contexts/ended_contexts.h"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {
namespace {

using detail::Recall;

ContextId context(std::uint64_t serial) { return {"trainer", 7, serial}; }

struct Memory {
  [[nodiscard]] bool ended_before(const ContextId& id) const { return ended.recall(id) == Recall::ended; }
  EndedContexts ended{"ps0"};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ended_contexts, Memory)

BOOST_AUTO_TEST_CASE(neighbours_share_a_tombstone_in_whatever_order_they_end) {
  for (const std::uint64_t serial : {5, 3, 4, 9}) ended.add(context(serial));  // two runs: 3-5 and 9
  BOOST_TEST(ended.size() == 2U);
  for (const std::uint64_t serial : {3, 4, 5, 9}) BOOST_TEST(ended_before(context(serial)));
  for (const std::uint64_t serial : {2, 6, 8, 10}) BOOST_TEST((ended.recall(context(serial)) == Recall::unknown));
}

BOOST_AUTO_TEST_CASE(a_context_that_ends_twice_is_remembered_once) {
  ended.add(context(4));
  ended.add(context(4));
  BOOST_TEST(ended.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_same_serial_of_another_life_of_the_creator_has_not_ended) {
  ended.add(context(4));
  BOOST_TEST(!ended_before({"trainer", 8, 4}));
  BOOST_TEST(!ended_before({"ps1", 7, 4}));
}

BOOST_AUTO_TEST_CASE(contexts_of_the_node_itself_that_are_not_there_have_ended_and_cost_nothing) {
  BOOST_TEST(ended_before({"ps0", 7, 4}));
  ended.add({"ps0", 7, 4});
  BOOST_TEST(ended.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_dead_creator_costs_nothing) {
  for (std::uint64_t serial = 2; serial < 40; serial += 2) ended.add(context(serial));
  ended.add({"trainer", 8, 1});
  ended.drop_creator({"trainer", {0, 7}});
  BOOST_TEST(ended.size() == 1U);
  BOOST_TEST(ended_before({"trainer", 8, 1}));
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_and_what_it_lost_is_in_doubt_and_not_taken_for_ended) {
  for (std::uint64_t i = 1; i <= EndedContexts::kRunsMax + 1; ++i)
    ended.add(context(2 * i));  // 2, 4, ...: 2 is forgotten
  BOOST_TEST(ended.size() == EndedContexts::kRunsMax);
  for (const std::uint64_t serial : {1, 2}) BOOST_TEST((ended.recall(context(serial)) == Recall::in_doubt));
  BOOST_TEST((ended.recall(context(3)) == Recall::unknown));  // no serial this young was forgotten
  BOOST_TEST(ended_before(context(4)));
}

BOOST_AUTO_TEST_CASE(creators_that_a_peer_invents_take_no_more_memory_than_that_and_others_come_into_doubt) {
  for (const std::uint64_t serial : {1, 2, 9}) ended.add({"a trainer", 7, serial});
  for (std::uint64_t life = 1; life <= EndedContexts::kRunsOfAllMax - 1; ++life) ended.add({"nobody", life, 5});
  BOOST_TEST(ended.size() == EndedContexts::kRunsOfAllMax - 1);  // "a trainer" is first in the order, and had two runs
  BOOST_TEST((ended.recall({"a trainer", 7, 2}) == Recall::in_doubt));
  BOOST_TEST((ended.recall({"a trainer", 7, 10}) == Recall::unknown));
  BOOST_TEST((ended.recall({"new", 7, 9}) == Recall::in_doubt));
  BOOST_TEST(ended_before({"nobody", 1, 5}));

  ended.add({"a trainer", 7, 9});
  BOOST_TEST(ended_before({"a trainer", 7, 9}));
  BOOST_TEST((ended.recall({"a trainer", 7, 8}) == Recall::in_doubt));
  for (std::uint64_t life = 1; life <= EndedContexts::kRunsOfAllMax - 1; ++life)
    ended.drop_creator({"nobody", {0, life}});
  BOOST_TEST(ended.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
