#include "actors/group.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(group)

using Names = std::vector<NodeName>;

Error failure(const NodeName& peer) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.peer = peer;
  error.message = "connection closed";
  error.operation = "rpc f";
  return error;
}

BOOST_AUTO_TEST_CASE(group_keeps_the_order_of_its_names_and_refuses_one_given_twice) {
  BOOST_TEST((Group({"b", "a"}).names() == Names{"b", "a"}));
  BOOST_TEST((Group({"b", "a"}).partial().names() == Names{"b", "a"}));
  BOOST_CHECK_EXCEPTION(Group({"a", "b", "a"}), std::invalid_argument,
                        [](const auto& e) { return std::string(e.what()) == "[Group] a is named twice"; });
  BOOST_CHECK_EXCEPTION(Group(Names{}), std::invalid_argument, [](const auto& e) {
    return std::string(e.what()) == "[Group] a group has at least one member";
  });
}

BOOST_AUTO_TEST_CASE(first_half_of_a_tree_is_not_smaller_than_the_second) {
  const auto [left, right] = detail::halves({"a", "b", "c"});
  BOOST_TEST((left == Names{"a", "b"}));
  BOOST_TEST((right == Names{"c"}));
  BOOST_TEST(detail::halves({})[0].empty());
  BOOST_TEST((detail::halves({"a"})[0] == Names{"a"}));
  BOOST_TEST(detail::halves({"a"})[1].empty());
}

BOOST_AUTO_TEST_CASE(race_for_a_failure_ends_with_the_first_failure_or_the_last_success) {
  using detail::Race;
  Race lost(3, Race::Until::first_failure);
  lost.ended(2, true);
  lost.ended(1, false);
  lost.ended(0, false);
  BOOST_TEST(lost.wait().value() == 1U);
  Race clean(2, Race::Until::first_failure);
  clean.ended(1, true);
  clean.ended(0, true);
  BOOST_TEST(!clean.wait());
}

BOOST_AUTO_TEST_CASE(race_for_a_success_ends_with_the_first_success_or_the_last_failure) {
  using detail::Race;
  Race won(3, Race::Until::first_success);
  won.ended(0, false);
  won.ended(2, true);
  BOOST_TEST(won.wait().value() == 2U);
  Race lost(1, Race::Until::first_success);
  lost.ended(0, false);
  BOOST_TEST(!lost.wait());
}

BOOST_AUTO_TEST_CASE(several_failures_are_one_error_with_the_others_as_its_cause) {
  const Error error = detail::merged({{"a", failure("a")}, {"b", failure("a")}, {"c", failure("c")}});
  BOOST_TEST(error.peer == "a");
  BOOST_TEST(error.cause == "c: rpc f on c: peer_down: connection closed (ran: maybe)");  // b has the same failure as a
}

BOOST_AUTO_TEST_CASE(results_are_combined_in_order_and_absent_ones_left_out) {
  constexpr auto join = [](std::string a, std::string b) { return a + b; };
  using Adding = detail::CombineAll<join, std::string>;
  Adding::Sum sum;
  Adding::add(sum, Adding::of("a", "x"));
  Adding::add(sum, {});
  Adding::add(sum, Adding::of("b", "y"));
  BOOST_TEST(sum.value() == "xy");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
