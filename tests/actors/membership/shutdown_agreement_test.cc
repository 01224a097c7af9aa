#include "actors/membership/shutdown_agreement.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(shutdown_agreement)

using Verdict = ShutdownAgreement::Verdict;

const std::vector<NodeName> kTwo{"a", "b"};

/// Counts `members` in the agreement's round.
void count(ShutdownAgreement& agreement, const std::map<NodeName, ShutdownAgreement::Count>& members) {
  for (const auto& [name, counts] : members) agreement.counted(name, agreement.round(), counts);
}

ShutdownAgreement all_ready() {
  ShutdownAgreement agreement;
  agreement.ready("a");
  agreement.ready("b");
  return agreement;
}

BOOST_AUTO_TEST_CASE(nobody_is_counted_before_all_are_ready) {
  ShutdownAgreement agreement;
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));
  agreement.ready("b");
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));
  BOOST_TEST((agreement.missing(kTwo) == std::vector<NodeName>{"a"}));
  agreement.ready("a");
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));  // waits for their counts
}

BOOST_AUTO_TEST_CASE(some_are_awaited_until_the_last_is_ready_and_until_the_last_is_counted) {
  ShutdownAgreement agreement;
  agreement.ready("b");
  BOOST_TEST(agreement.awaits_some_of(2));
  agreement.ready("a");
  BOOST_TEST(!agreement.awaits_some_of(2));
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}});
  BOOST_TEST(agreement.awaits_some_of(2));
  BOOST_TEST(agreement.awaits_some_of(3));  // one joined, and is not ready
  agreement.ready("c");
  BOOST_TEST(!agreement.awaits_some_of(3));  // another round is to begin
  agreement.gone("c");
  BOOST_TEST(agreement.awaits_some_of(2));
  count(agreement, {{"b", {0, 5}}});
  BOOST_TEST(!agreement.awaits_some_of(2));
}

BOOST_AUTO_TEST_CASE(two_idle_rounds_with_the_same_numbers_agree) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::agreed));
  BOOST_TEST((agreement.next(kTwo) == Verdict::agreed));
}

BOOST_AUTO_TEST_CASE(activity_counts_of_each_member_whatever_another_says, *boost::unit_test::label("attack")) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  for (int round = 0; round < 2; ++round) {
    count(agreement,
          {{"a", {1, 7}}, {"b", {std::numeric_limits<std::uint64_t>::max(), 0}}});  // 1 + 2^64 - 1 wraps to 0
    BOOST_TEST((agreement.next(kTwo) == Verdict::count_later));
  }
}

BOOST_AUTO_TEST_CASE(requests_of_one_member_do_not_stand_for_those_of_another, *boost::unit_test::label("attack")) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 8}}, {"b", {0, 4}}});  // 12 as before: a has started another
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
}

BOOST_AUTO_TEST_CASE(activity_is_looked_at_again_later_and_starts_over) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {1, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count_later));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::agreed));
}

BOOST_AUTO_TEST_CASE(request_started_between_two_idle_rounds_starts_over) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 5}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 6}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  count(agreement, {{"a", {0, 7}}, {"b", {0, 6}}});
  BOOST_TEST((agreement.next(kTwo) == Verdict::agreed));
}

BOOST_AUTO_TEST_CASE(count_of_an_earlier_round_is_ignored) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  agreement.counted("a", agreement.round(), {0, 7});
  agreement.counted("b", agreement.round() - 1, {0, 5});
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));
}

BOOST_AUTO_TEST_CASE(the_dead_are_not_waited_for, *boost::unit_test::label("fault-F22")) {
  ShutdownAgreement agreement;
  agreement.ready("a");
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));
  agreement.gone("b");
  const std::vector<NodeName> alone{"a"};
  BOOST_TEST((agreement.next(alone) == Verdict::count));
  count(agreement, {{"a", {0, 1}}});
  BOOST_TEST((agreement.next(alone) == Verdict::count));
  count(agreement, {{"a", {0, 1}}});
  BOOST_TEST((agreement.next(alone) == Verdict::agreed));
}

BOOST_AUTO_TEST_CASE(member_that_dies_within_a_round_does_not_keep_it_open, *boost::unit_test::label("fault-F22")) {
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  agreement.counted("a", agreement.round(), {0, 1});
  agreement.gone("b");
  BOOST_TEST((agreement.next({"a"}) == Verdict::count));
}

BOOST_AUTO_TEST_CASE(member_that_came_back_must_be_ready_again) {
  ShutdownAgreement agreement = all_ready();
  agreement.gone("b");
  BOOST_TEST((agreement.next(kTwo) == Verdict::wait));
  BOOST_TEST((agreement.missing(kTwo) == std::vector<NodeName>{"b"}));
}

BOOST_AUTO_TEST_CASE(member_that_comes_within_a_round_begins_another_when_it_is_ready) {
  const std::vector<NodeName> three{"a", "b", "c"};
  ShutdownAgreement agreement = all_ready();
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
  agreement.counted("a", agreement.round(), {0, 1});
  BOOST_TEST((agreement.next(three) == Verdict::wait));
  agreement.ready("c");
  BOOST_TEST((agreement.next(three) == Verdict::count));
  BOOST_TEST(agreement.round() == 2U);
  count(agreement, {{"a", {0, 1}}, {"b", {0, 1}}, {"c", {0, 0}}});
  BOOST_TEST((agreement.next(three) == Verdict::count));
  count(agreement, {{"a", {0, 1}}, {"b", {0, 1}}, {"c", {0, 0}}});
  BOOST_TEST((agreement.next(three) == Verdict::agreed));
}

BOOST_AUTO_TEST_CASE(requests_of_a_member_that_dies_between_two_rounds_do_not_stand_for_those_of_others,
                     *boost::unit_test::label("fault-F22")) {
  ShutdownAgreement agreement = all_ready();
  agreement.ready("c");
  BOOST_TEST((agreement.next({"a", "b", "c"}) == Verdict::count));
  count(agreement, {{"a", {0, 0}}, {"b", {0, 1}}, {"c", {0, 2}}});
  BOOST_TEST((agreement.next({"a", "b", "c"}) == Verdict::count));
  agreement.gone("c");
  count(agreement, {{"a", {0, 1}}, {"b", {0, 2}}});  // again 3
  BOOST_TEST((agreement.next(kTwo) == Verdict::count));
}

/// Two members that work, and a coordinator that counts them at the same time.
struct Model {
  struct Step {
    std::size_t node;
    std::int64_t active;  // the change by this step
    std::uint64_t started;
  };

  ShutdownAgreement agreement = all_ready();
  std::array<std::int64_t, 2> active{};
  std::array<std::uint64_t, 2> started{};
  std::array<bool, 2> asked{};
  std::size_t done = 0;  // number of completed steps

  void begin_round() { asked = {true, true}; }
  void sample(std::size_t node) {
    asked[node] = false;
    agreement.counted(kTwo[node], agreement.round(), {static_cast<std::uint64_t>(active[node]), started[node]});
  }
};

/// `a` serves a function that calls the other node, and so on for `hops` calls, and all wait: requests travel down the
/// chain and answers back up. Each is one step of one node.
std::vector<Model::Step> chain(std::size_t hops) {
  std::vector<Model::Step> steps;
  for (std::size_t i = 0; i < hops; ++i) {
    steps.push_back({i % 2, 1, 1});        // sends
    steps.push_back({(i + 1) % 2, 1, 0});  // serves
  }
  for (std::size_t i = hops; i-- > 0;) {
    steps.push_back({(i + 1) % 2, -1, 0});  // has answered
    steps.push_back({i % 2, -1, 0});        // has the answer
  }
  steps.push_back({0, -1, 0});
  return steps;
}

/// As chain(), but no caller waits: each function starts the next one (`remote`) and ends.
std::vector<Model::Step> relay(std::size_t hops) {
  std::vector<Model::Step> steps;
  for (std::size_t i = 0; i < hops; ++i) {
    steps.push_back({i % 2, 1, 1});        // sends
    steps.push_back({(i + 1) % 2, 1, 0});  // serves, and acknowledges
    steps.push_back({i % 2, -1, 0});       // has the acknowledgement
    steps.push_back({i % 2, -1, 0});       // ends
  }
  steps.push_back({hops % 2, -1, 0});
  return steps;
}

struct Explorer {
  std::vector<Model::Step> steps;
  std::uint64_t rounds_max = 0;
  std::size_t agreed = 0;

  void explore(Model model) {
    const Verdict verdict = model.agreement.next(kTwo);
    if (verdict == Verdict::agreed) {
      ++agreed;
      BOOST_REQUIRE_MESSAGE(model.done == steps.size(), "agreed with " << steps.size() - model.done << " steps to go");
      return;
    }
    if (verdict != Verdict::wait) {
      if (model.agreement.round() > rounds_max) return;
      model.begin_round();
    }
    for (std::size_t node = 0; node < 2; ++node) {
      if (!model.asked[node]) continue;
      Model next = model;
      next.sample(node);
      explore(std::move(next));
    }
    if (model.done < steps.size()) {
      const Model::Step& step = steps[model.done];
      Model next = model;
      next.active[step.node] += step.active;
      next.started[step.node] += step.started;
      ++next.done;
      explore(std::move(next));
    }
  }
};

BOOST_AUTO_TEST_CASE(agreement_never_comes_before_the_end_whenever_members_are_counted) {
  for (const std::vector<Model::Step>& steps : {chain(1), chain(3), relay(1), relay(2), relay(3)}) {
    Explorer explorer{steps, 3};
    Model model;
    model.active[0] = 1;  // the function that starts the chain
    explorer.explore(model);
    BOOST_TEST(explorer.agreed > 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
