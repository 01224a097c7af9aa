#include "actors/pipeline/stage_seat.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(stage_seat)

namespace {

using boost::unit_test::label;

RoundPlan round_of(std::uint64_t first, std::uint32_t count) { return {{first}, count, count}; }

/// Returns the error of a future that is done; "" if it succeeded, "waits" if it is not done.
std::string end_of(const Future<void>& future) {
  if (!future.ready()) return "waits";
  const Result<Unit>& result = future.state().result();
  return result ? "" : result.error().message;
}

Gradients gradient_of(const Variable& leaf, float value) {
  Gradients gradients;
  gradients.add(leaf, full({1}, value));
  return gradients;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sum_is_from_the_last_micro_batch_to_the_first_however_they_are_settled, *label("H-14")) {
  // In f32: (1 + 1e8) - 1e8 = 0, from the last to the first -1e8 + 1e8 + 1 = 1.
  const std::vector<float> values{1.0F, 1e8F, -1e8F};
  const Variable leaf(ones({1}), RequiresGrad::yes);
  std::vector<std::uint32_t> order{0, 1, 2};
  do {
    StageRounds rounds{FutureHome{}};
    for (std::uint32_t i = 0; i < 3; ++i) {
      BOOST_TEST(end_of(rounds.enter(round_of(0, 3), i)) == "");
      rounds.leave({{0}, i});
    }
    for (const std::uint32_t i : order) rounds.settle({{0}, i}, {gradient_of(leaf, values[i])});
    rounds.settle({{0}, 0}, {gradient_of(leaf, 7.0F)});  // again: nothing
    BOOST_TEST(rounds.take(round_of(0, 3)).gradients.of(leaf).item() == 1.0);
    BOOST_TEST(rounds.take(round_of(0, 3)).empty());
  } while (std::ranges::next_permutation(order).found);
}

BOOST_AUTO_TEST_CASE(round_that_fails_fails_who_waits_and_who_comes_late_and_leaves_no_gradient) {
  const Variable leaf(ones({1}), RequiresGrad::yes);
  StageRounds rounds{FutureHome{}};
  const auto first = rounds.enter(round_of(0, 3), 0);
  const auto third = rounds.enter(round_of(0, 3), 2);
  const auto next = rounds.enter(round_of(3, 1), 0);
  BOOST_TEST(end_of(first) == "");
  rounds.leave({{0}, 0});
  rounds.settle({{0}, 0}, {gradient_of(leaf, 1.0F)});
  BOOST_TEST(end_of(third) == "waits");
  rounds.fail(round_of(0, 3), make_error(ErrorCode::cancelled, "boom"));
  rounds.fail(round_of(0, 3), make_error(ErrorCode::cancelled, "later"));
  BOOST_TEST(end_of(third) == "boom");
  BOOST_TEST(end_of(rounds.enter(round_of(0, 3), 1)) == "boom");
  BOOST_TEST(rounds.take(round_of(0, 3)).empty());
  BOOST_TEST(end_of(next) == "");
}

BOOST_AUTO_TEST_CASE(failure_of_a_round_with_another_plan_changes_nothing, *label("attack")) {
  const Variable leaf(ones({1}), RequiresGrad::yes);
  for (const RoundPlan& other : {RoundPlan{{0}, 2, 0}, RoundPlan{{0}, 3, 3}}) {
    StageRounds rounds{FutureHome{}};
    const auto first = rounds.enter(round_of(0, 2), 0);
    const auto second = rounds.enter(round_of(0, 2), 1);
    rounds.settle({{0}, 0}, {gradient_of(leaf, 1.0F)});
    rounds.fail(other, make_error(ErrorCode::cancelled, "boom"));
    BOOST_TEST(end_of(second) == "waits");
    rounds.leave({{0}, 0});
    BOOST_TEST(end_of(second) == "");
    BOOST_TEST(rounds.take(round_of(0, 2)).gradients.of(leaf).item() == 1.0);
    rounds.fail(round_of(0, 2), make_error(ErrorCode::cancelled, "its own"));
    BOOST_TEST(end_of(rounds.enter(round_of(0, 2), 1)) == "its own");
  }
}

BOOST_AUTO_TEST_CASE(who_comes_late_in_any_of_several_failed_rounds_hears_of_its_own_failure) {
  StageRounds rounds{FutureHome{}};
  constexpr std::uint64_t kRounds = 5;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    rounds.fail(round_of(2 * i, 2), make_error(ErrorCode::cancelled, "boom " + std::to_string(i)));
  }
  rounds.fail(round_of(0, 2), make_error(ErrorCode::cancelled, "later"));
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    BOOST_TEST(end_of(rounds.enter(round_of(2 * i, 2), 1)) == "boom " + std::to_string(i));
  }
}

BOOST_AUTO_TEST_CASE(gradient_that_comes_after_its_round_failed_is_not_kept) {
  const Variable leaf(ones({1}), RequiresGrad::yes);
  StageRounds rounds{FutureHome{}};
  static_cast<void>(rounds.enter(round_of(0, 2), 0));
  rounds.fail(round_of(0, 2), make_error(ErrorCode::cancelled, "boom"));
  rounds.settle({{0}, 0}, {gradient_of(leaf, 1.0F)});
  rounds.keep({{0}, 1}, gradient_of(leaf, 1.0F));
  rounds.leave({{0}, 0});
  BOOST_TEST(rounds.take(round_of(0, 2)).empty());
}

BOOST_AUTO_TEST_CASE(end_of_the_pipeline_fails_who_waits_and_who_comes_late) {
  StageRounds rounds{FutureHome{}};
  const auto waits = rounds.enter(round_of(0, 2), 1);
  rounds.close(make_error(ErrorCode::cancelled, "the pipeline has ended"));
  BOOST_TEST(end_of(waits) == "the pipeline has ended");
  BOOST_TEST(end_of(rounds.enter(round_of(0, 2), 0)) == "the pipeline has ended");
}

BOOST_AUTO_TEST_CASE(after_the_end_of_the_pipeline_nobody_enters_when_the_one_that_runs_leaves) {
  StageRounds rounds{FutureHome{}};
  const auto runs = rounds.enter(round_of(0, 2), 0);
  const auto waits = rounds.enter(round_of(0, 2), 1);
  BOOST_TEST(end_of(runs) == "");
  rounds.close(make_error(ErrorCode::cancelled, "the pipeline has ended"));
  BOOST_TEST(end_of(waits) == "the pipeline has ended");
  rounds.leave({{0}, 0});
  rounds.settle({{0}, 0}, {});
  rounds.fail(round_of(0, 2), make_error(ErrorCode::cancelled, "boom"));
  BOOST_TEST(end_of(rounds.enter(round_of(2, 1), 0)) == "the pipeline has ended");
}

BOOST_AUTO_TEST_CASE(end_of_the_pipeline_without_memory_fails_who_waits) {
  const testing::AmongBarePeers among;
  std::optional<StageSeat> seat(std::in_place, *among.node);
  const auto waits = seat->rounds()->enter(round_of(0, 2), 1);
  {
    const testing::RefusedAllocation refused(1);
    seat.reset();
  }
  BOOST_REQUIRE(waits.ready());
  BOOST_TEST((waits.state().result().error().code == ErrorCode::cancelled));
}

BOOST_AUTO_TEST_CASE(micro_batch_that_leaves_without_memory_lets_the_next_one_enter) {
  StageRounds rounds{FutureHome{}};
  const auto runs = rounds.enter({{0}, 3, 1}, 0);
  const auto second = rounds.enter({{0}, 3, 1}, 1);
  const auto next_round = rounds.enter({{3}, 1, 1}, 0);
  {
    const testing::RefusedAllocation refused(1);
    rounds.leave({{0}, 0});
    rounds.settle({{0}, 0});
    BOOST_TEST(!refused.happened());
  }
  BOOST_TEST(end_of(runs) == "");
  BOOST_TEST(end_of(second) == "");
  BOOST_TEST(end_of(next_round) == "waits");
}

BOOST_AUTO_TEST_CASE(what_gets_no_memory_leaves_its_round_as_it_was) {
  bool is_refused = true;
  const Variable leaf(ones({1}), RequiresGrad::yes);
  for (std::size_t n = 1; is_refused; ++n) {
    is_refused = false;
    const auto again = [&](const auto& act) {
      try {
        const testing::RefusedAllocation refused(n);
        act();
        return;
      } catch (const std::bad_alloc&) {
        is_refused = true;
      }
      act();
    };
    const Error boom = make_error(ErrorCode::cancelled, "a text that does not fit into the string itself");
    StageRounds rounds{FutureHome{}};
    std::optional<Future<void>> first, second;
    again([&] { first = rounds.enter(round_of(0, 2), 0); });
    again([&] { second = rounds.enter(round_of(0, 2), 1); });
    BOOST_TEST(end_of(*first) == "");
    BOOST_TEST(end_of(*second) == "waits");
    const StageGradients found{gradient_of(leaf, 2.0F)};
    again([&] { rounds.settle({{0}, 0}, found); });
    const auto next_round = rounds.enter(round_of(2, 1), 0);
    again([&] { rounds.fail(round_of(0, 2), boom); });
    rounds.leave({{0}, 0});
    BOOST_REQUIRE(second->ready());
    BOOST_TEST((second->state().result().error().code == ErrorCode::cancelled));
    BOOST_TEST(end_of(next_round) == "");
  }
}

BOOST_AUTO_TEST_CASE(micro_batch_that_does_not_fit_is_refused) {
  StageRounds rounds{FutureHome{}};
  static_cast<void>(rounds.enter(round_of(0, 2), 1));
  BOOST_TEST(end_of(rounds.enter(round_of(0, 2), 1)) == "a micro-batch of round 0 cannot enter the stage");
  BOOST_TEST(end_of(rounds.enter(round_of(1, 2), 0)) == "a micro-batch of round 1 cannot enter the stage");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
