#include "actors/pipeline/stage_gate.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(stage_gate)

namespace {

RoundPlan plan_of(std::uint64_t first, std::uint32_t count, std::uint32_t live_max = 0) {
  return {{first}, count, live_max};
}

/// Lets in all that may enter now, each of which leaves at once. Returns their tickets.
std::vector<std::uint64_t> drain(StageGate& gate) {
  std::vector<std::uint64_t> tickets;
  while (const auto batch = gate.admit()) {
    tickets.push_back(batch->round.first_ticket + batch->index);
    gate.leave(*batch);
  }
  return tickets;
}

}  // namespace

BOOST_AUTO_TEST_CASE(micro_batches_of_two_rounds_enter_in_order_however_they_arrive) {
  // Tickets 0, 1, 2 are of the first round, 3, 4 of the second.
  std::vector<std::uint32_t> arrivals{0, 1, 2, 3, 4};
  do {
    StageGate gate;
    std::vector<std::uint64_t> entered;
    for (const std::uint32_t ticket : arrivals) {
      BOOST_TEST((ticket < 3 ? gate.arrive(plan_of(0, 3), ticket) : gate.arrive(plan_of(3, 2), ticket - 3)));
      for (const std::uint64_t one : drain(gate)) entered.push_back(one);
    }
    BOOST_TEST(entered == (std::vector<std::uint64_t>{0, 1, 2, 3, 4}), boost::test_tools::per_element());
    BOOST_TEST(gate.size() == 0U);
  } while (std::ranges::next_permutation(arrivals).found);
}

BOOST_AUTO_TEST_CASE(one_micro_batch_is_inside_at_a_time) {
  StageGate gate;
  BOOST_TEST((gate.arrive(plan_of(0, 2), 0) && gate.arrive(plan_of(0, 2), 1)));
  const auto first = gate.admit();
  BOOST_TEST_REQUIRE(first.has_value());
  BOOST_TEST(!gate.admit());
  gate.leave({{0}, 1});  // that one is not inside
  BOOST_TEST(!gate.admit());
  gate.leave(*first);
  BOOST_TEST((gate.admit() == MicroBatchId{{0}, 1}));
}

BOOST_AUTO_TEST_CASE(live_micro_batches_never_exceed_the_limit_and_each_that_ends_lets_one_in) {
  for (std::uint32_t limit = 1; limit <= 4; ++limit) {
    StageGate gate;
    for (std::uint32_t i = 0; i < 6; ++i) BOOST_TEST(gate.arrive(plan_of(0, 6, limit), i));
    std::uint32_t entered = static_cast<std::uint32_t>(drain(gate).size());
    BOOST_TEST(entered == limit);
    for (std::uint32_t i = 0; i < 6; ++i) {
      BOOST_TEST(gate.live({0}) == std::min(limit, 6 - i));
      BOOST_TEST(gate.settle({{0}, i}));
      BOOST_TEST(!gate.settle({{0}, i}));  // only once
      entered += static_cast<std::uint32_t>(drain(gate).size());
      BOOST_TEST(entered == std::min(limit + i + 1, 6U));
    }
    BOOST_TEST(gate.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(round_that_is_not_settled_does_not_hold_up_the_next_one) {
  StageGate gate;
  BOOST_TEST(gate.arrive(plan_of(0, 1, 1), 0));
  BOOST_TEST(gate.arrive(plan_of(1, 1, 1), 0));
  BOOST_TEST(drain(gate).size() == 2U);
  BOOST_TEST(gate.size() == 2U);
  BOOST_TEST(gate.settle({{1}, 0}));
  BOOST_TEST(gate.settle({{0}, 0}));
  BOOST_TEST(gate.size() == 0U);
}

// The round is dropped before, between or after its micro-batches, with or without one of them inside.
BOOST_AUTO_TEST_CASE(round_that_is_dropped_at_any_moment_lets_the_next_one_in) {
  for (std::uint32_t arrived = 0; arrived <= 3; ++arrived) {
    for (std::uint32_t left = 0; left <= arrived; ++left) {
      for (const bool inside : {false, true}) {
        for (const bool next_is_here : {false, true}) {
          StageGate gate;
          if (next_is_here) BOOST_TEST(gate.arrive(plan_of(3, 1), 0));
          for (std::uint32_t i = 0; i < arrived; ++i) BOOST_TEST(gate.arrive(plan_of(0, 3, 3), i));
          for (std::uint32_t i = 0; i < left; ++i) gate.leave(gate.admit().value());
          const auto running = inside && left < arrived ? gate.admit() : std::nullopt;
          BOOST_TEST(gate.drop(plan_of(0, 3, 3)));
          BOOST_TEST(gate.live({0}) == 0U);
          if (!next_is_here) BOOST_TEST(gate.arrive(plan_of(3, 1), 0));
          for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(!gate.arrive(plan_of(0, 3, 3), i));  // late
          if (running) {
            BOOST_TEST(!gate.admit());
            gate.leave(*running);
          }
          BOOST_TEST(drain(gate) == std::vector<std::uint64_t>{3});
          BOOST_TEST(gate.size() == 0U);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rounds_dropped_ahead_of_their_time_are_skipped_when_it_comes) {
  StageGate gate;
  BOOST_TEST((gate.drop(plan_of(2, 2)) && gate.drop(plan_of(4, 3))));
  BOOST_TEST((gate.arrive(plan_of(0, 2), 1) && gate.arrive(plan_of(7, 1), 0)));
  BOOST_TEST(drain(gate).empty());
  BOOST_TEST(gate.arrive(plan_of(0, 2), 0));
  BOOST_TEST((drain(gate) == std::vector<std::uint64_t>{0, 1, 7}));
  BOOST_TEST(gate.size() == 0U);
}

BOOST_AUTO_TEST_CASE(micro_batches_that_do_not_fit_are_refused) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  StageGate gate;
  BOOST_TEST(gate.arrive(plan_of(4, 3, 1), 1));
  BOOST_TEST(!gate.arrive(plan_of(4, 3, 1), 1));      // twice
  BOOST_TEST(!gate.arrive(plan_of(4, 3, 1), 3));      // beyond its round
  BOOST_TEST(!gate.arrive(plan_of(4, 3, 2), 0));      // another plan for the same round
  BOOST_TEST(!gate.arrive(plan_of(3, 2), 0));         // overlaps from below
  BOOST_TEST(!gate.arrive(plan_of(6, 2), 0));         // overlaps from above
  BOOST_TEST(!gate.arrive(plan_of(0, 0), 0));         // empty
  BOOST_TEST(!gate.arrive(plan_of(most - 1, 5), 0));  // tickets that no number has
  BOOST_TEST(gate.arrive(plan_of(7, 1), 0));
  BOOST_TEST(gate.size() == 2U);
  BOOST_TEST(!gate.drop(plan_of(4, 3, 2)));  // another plan: nothing
  BOOST_TEST(gate.drop(plan_of(0, 4)));
  BOOST_TEST((gate.arrive(plan_of(4, 3, 1), 0) && drain(gate).size() == 1U));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
