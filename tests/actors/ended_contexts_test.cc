#include "actors/ended_contexts.h"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {
namespace {
ContextId context(std::uint64_t serial) { return {"trainer", 7, serial}; }
}  // namespace

BOOST_AUTO_TEST_SUITE(ended_contexts)

BOOST_AUTO_TEST_CASE(neighbours_share_a_tombstone_in_whatever_order_they_end) {
  EndedContexts ended;
  for (const std::uint64_t serial : {5, 3, 4, 9}) ended.add(context(serial));  // 3-5 and 9
  BOOST_TEST(ended.size() == 2U);
  for (const std::uint64_t serial : {3, 4, 5, 9}) BOOST_TEST(ended.contains(context(serial)));
  for (const std::uint64_t serial : {2, 6, 8, 10}) BOOST_TEST(!ended.contains(context(serial)));
}

BOOST_AUTO_TEST_CASE(a_context_that_ends_twice_is_remembered_once) {
  EndedContexts ended;
  ended.add(context(4));
  ended.add(context(4));
  BOOST_TEST(ended.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_same_serial_of_another_life_of_the_creator_has_not_ended) {
  EndedContexts ended;
  ended.add(context(4));
  BOOST_TEST(!ended.contains({"trainer", 8, 4}));
  BOOST_TEST(!ended.contains({"ps0", 7, 4}));
}

BOOST_AUTO_TEST_CASE(everything_of_a_dead_creator_has_ended_and_costs_nothing) {
  EndedContexts ended;
  for (std::uint64_t serial = 2; serial < 40; serial += 2) ended.add(context(serial));
  ended.drop_creator("trainer", 7);
  BOOST_TEST(ended.size() == 0U);
  BOOST_TEST(ended.contains(context(1)));
  BOOST_TEST(!ended.contains({"trainer", 8, 1}));
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_by_forgetting_the_oldest_gaps) {
  EndedContexts ended;
  for (std::uint64_t i = 1; i <= EndedContexts::kRunsMax + 1; ++i) ended.add(context(2 * i));
  BOOST_TEST(ended.size() == EndedContexts::kRunsMax);
  BOOST_TEST(ended.contains(context(3)));   // the gap between the two oldest
  BOOST_TEST(!ended.contains(context(5)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
