#include "actors/group.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "messages/values.h"
#include "tests/actors/bare_peer.h"

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

std::string name_with(Scope& scope, const std::string& suffix) { return scope.node_name() + suffix; }
std::string join_names(std::string a, const std::string& b) { return std::move(a) + " " + b; }

/// The node "m" calls a tree of b, c and d, of which b answers with whatever the test says.
struct AmongTree : testing::AmongBarePeers {
  using Joined = detail::TreeCallReduced<&name_with, &join_names>;
  using Each = detail::TreeCall<&name_with>;

  AmongTree()
      : AmongBarePeers(0, {{"name_with", &name_with},
                           {"each name_with", tree_call<&name_with>},
                           {"joined name_with", tree_call_reduced<&name_with, &join_names>}}) {}

  template <class Found>
  void answer_with(const Found& found) {
    meanwhile.action = [this, found] {
      const auto calls = b->take_heard<msg::Call>();
      BOOST_REQUIRE(calls.size() == 1U);
      b->answer("m", calls.front(), msg::Reply{to_payload(nullptr, found)});
    };
  }
  std::string reduced(const Group& group, const Joined::Found& found) {
    answer_with(found);
    return outcome([&] { return group.call_tree_reduced<&name_with, &join_names>(*node, std::string("!")).value; });
  }
  std::string gathered(const Group& group, const Each::Found& found) {
    answer_with(found);
    return outcome([&] {
      std::string values;
      for (const auto& [name, value] : group.call_tree<&name_with>(*node, std::string("!")).values) values += value;
      return values;
    });
  }
  template <class Run>
  static std::string outcome(const Run& run) {
    try {
      return run();
    } catch (const RemoteError& error) {
      return std::string(name_of(error.code())) + " " + error.error().peer;
    }
  }

  std::unique_ptr<testing::BarePeer> b = peer("b");
  testing::ActingWaits meanwhile;
  detail::BlockingHook::Guard meanwhile_guard{meanwhile};
  const Group all{{"b", "c", "d"}};
};

BOOST_FIXTURE_TEST_CASE(answer_of_a_tree_that_does_not_account_for_its_members_fails_them, AmongTree) {
  for (const Group& group : {all, all.partial()}) {
    BOOST_TEST(reduced(group, {std::nullopt, {}}) == "protocol_violation b");
    BOOST_TEST(reduced(group, {std::nullopt, {{"b", failure("b")}}}) == "protocol_violation b");
    BOOST_TEST(reduced(group, {"b!", {{"x", failure("x")}}}) == "protocol_violation b");
  }
  BOOST_TEST(reduced(all.partial(), {"b! d!", {{"c", failure("c")}}}) == "b! d!");
  BOOST_TEST(reduced(all, {"b! c! d!", {}}) == "b! c! d!");
}

BOOST_FIXTURE_TEST_CASE(answer_of_a_tree_with_results_of_others_than_its_members_fails_them, AmongTree) {
  BOOST_TEST(gathered(all, {{{"b", "b!"}, {"c", "c!"}}, {}}) == "protocol_violation b");
  BOOST_TEST(gathered(all, {{{"b", "b!"}, {"c", "c!"}, {"x", "x!"}}, {}}) == "protocol_violation b");
  BOOST_TEST(gathered(all.partial(), {{{"b", "b!"}, {"c", "c!"}}, {{"d", failure("d")}}}) == "b!c!");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
