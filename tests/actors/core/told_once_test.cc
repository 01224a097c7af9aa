#include "actors/core/told_once.h"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace troupe::detail {
namespace {

/// What a handler was told, in order; -1 says that nobody else told it.
ToldOnce<int> into(std::vector<int>& told) {
  return {[&told](int value) { told.push_back(value); }, [](const auto& untold) { untold(-1); }};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(told_once)

BOOST_AUTO_TEST_CASE(what_is_told_first_counts_through_whichever_copy) {
  std::vector<int> told;
  {
    const ToldOnce<int> handler = into(told);
    const ToldOnce<int> copy = handler;
    copy(3);
    handler(4);
  }
  BOOST_TEST(told == (std::vector<int>{3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_was_not_told_is_told_when_the_last_copy_goes) {
  std::vector<int> told;
  std::optional<ToldOnce<int>> handler = into(told);
  std::optional<ToldOnce<int>> copy = handler;
  handler.reset();
  BOOST_TEST(told.empty());
  copy.reset();
  BOOST_TEST(told == (std::vector<int>{-1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
