#include "actors/shards/ended_shards.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(ended_shards)

BOOST_AUTO_TEST_CASE(optimizer_that_was_released_is_remembered_until_its_node_is_gone) {
  EndedShards ended("m");
  for (int twice = 0; twice < 2; ++twice) ended.add({"p1", 10, 4});
  ended.add({"p1", 11, 4});
  BOOST_TEST(ended.size() == 2U);
  BOOST_TEST((ended.recall({"p1", 10, 4}) == Recall::ended));
  BOOST_TEST((ended.recall({"p1", 10, 5}) == Recall::unknown));
  BOOST_TEST((ended.recall({"p2", 10, 4}) == Recall::unknown));
  ended.drop_creator({"p1", {99, 10}});
  BOOST_TEST((ended.recall({"p1", 10, 4}) == Recall::unknown));
  BOOST_TEST((ended.recall({"p1", 11, 4}) == Recall::ended));
}

BOOST_AUTO_TEST_CASE(memory_of_each_life_is_bounded, *boost::unit_test::label("attack")) {
  EndedShards ended("m");
  ended.add({"p1", 10, 7});
  for (std::uint64_t serial = 0; serial <= EndedShards::kRememberedMax; ++serial) ended.add({"p2", 10, serial});
  BOOST_TEST(ended.size() == EndedShards::kRememberedMax + 1);
  BOOST_TEST((ended.recall({"p2", 10, 0}) == Recall::unknown));
  BOOST_TEST((ended.recall({"p2", 10, 1}) == Recall::ended));
  BOOST_TEST((ended.recall({"p1", 10, 7}) == Recall::ended));
}

BOOST_AUTO_TEST_CASE(nothing_is_remembered_of_the_node_itself) {
  EndedShards ended("m");
  ended.add({"m", 7, 4});
  BOOST_TEST(ended.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
