#include "actors/shards/trainer_clocks.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(trainer_clocks)

using Tickets = std::vector<TrainerClocks::Ticket>;
using ReadyOnes = std::vector<TrainerClocks::Ready>;

const std::array<OptimizerId, 3> kTrainers{OptimizerId{"a", 1, 1}, OptimizerId{"b", 1, 1}, OptimizerId{"b", 1, 2}};
const auto& [kA, kB, kC] = std::tie(kTrainers[0], kTrainers[1], kTrainers[2]);

BOOST_AUTO_TEST_CASE(trainer_waits_until_the_slowest_is_near_enough) {
  TrainerClocks clocks;
  clocks.join(kB);
  clocks.took(kA, 3);
  BOOST_TEST(clocks.wait(kA, 2, 7).empty());
  BOOST_TEST(clocks.take_ready().empty());  // 3 - 0 > 2
  clocks.took(kB, 1);
  BOOST_TEST((clocks.take_ready() == ReadyOnes{{7, 3, 1}}));
  BOOST_TEST(clocks.take_ready().empty());
}

BOOST_AUTO_TEST_CASE(trainer_that_is_not_ahead_goes_on_at_once) {
  TrainerClocks clocks;
  BOOST_TEST(clocks.wait(kA, 0, 1).empty());
  BOOST_TEST((clocks.take_ready() == ReadyOnes{{1, 0, 0}}));
}

BOOST_AUTO_TEST_CASE(trainer_that_is_gone_does_not_count_and_its_waits_end) {
  TrainerClocks clocks;
  clocks.join(kB);
  clocks.took(kA, 1);
  static_cast<void>(clocks.wait(kA, 0, 1));
  static_cast<void>(clocks.wait(kA, 0, 2));
  BOOST_TEST(clocks.take_ready().empty());
  BOOST_TEST((clocks.leave(kA) == Tickets{1, 2}));
  clocks.took(kA, 1);
  static_cast<void>(clocks.wait(kA, 0, 3));
  BOOST_TEST(clocks.leave(kB).empty());
  BOOST_TEST((clocks.take_ready() == ReadyOnes{{3, 1, 1}}));
}

BOOST_AUTO_TEST_CASE(trainer_that_comes_late_begins_at_the_slowest) {
  TrainerClocks clocks;
  clocks.join(kB);
  clocks.took(kA, 5);
  clocks.took(kB, 3);
  clocks.join(kC);
  BOOST_TEST(clocks.slowest() == 3U);
  clocks.join(kA);  // counts already
  clocks.took(kC, 2);
  clocks.took(kB, 2);
  BOOST_TEST(clocks.slowest() == 5U);
}

BOOST_AUTO_TEST_CASE(trainer_that_has_taken_no_step_and_has_not_joined_holds_nobody_up) {
  TrainerClocks clocks;
  clocks.took(kB, 0);
  clocks.took(kA, 9);
  BOOST_TEST(clocks.slowest() == 9U);
}

BOOST_AUTO_TEST_CASE(waits_that_were_given_up_are_bounded) {
  TrainerClocks clocks;
  clocks.join(kB);
  clocks.took(kA, 1);
  for (TrainerClocks::Ticket ticket = 1; ticket <= TrainerClocks::kWaitsMax; ++ticket)
    BOOST_TEST(clocks.wait(kA, 0, ticket).empty());
  BOOST_TEST((clocks.wait(kA, 0, 1000) == Tickets{1}));
  BOOST_TEST(clocks.waits() == TrainerClocks::kWaitsMax);
}

/// Three trainers that take kSteps steps each, leave when they are done or at any moment, and begin at any moment.
struct World {
  enum class State : std::uint8_t { away, idle, waits, may_step, left };
  TrainerClocks clocks;
  std::array<State, 3> states{State::away, State::away, State::away};
  std::array<std::uint64_t, 3> steps{};  // taken
  std::array<std::uint64_t, 3> base{};   // the slowest clock when it joined
  std::size_t early_ends = 1;            // trainers that may leave before they are done

  static constexpr std::uint64_t kSteps = 4;

  [[nodiscard]] std::optional<std::uint64_t> slowest() const {
    std::optional<std::uint64_t> least;
    for (std::size_t i = 0; i < 3; ++i) {
      if (states[i] == State::away || states[i] == State::left) continue;
      least = std::min(least.value_or(base[i] + steps[i]), base[i] + steps[i]);
    }
    return least;
  }
  [[nodiscard]] auto key() const { return std::tuple(states, steps, base, early_ends); }
};

/// Visits every order of events, each state once.
class EveryOrder {
 public:
  explicit EveryOrder(std::uint64_t staleness) : staleness_(staleness) {}

  void visit(const World& world) {
    if (!seen_.insert(world.key()).second) return;
    bool moved = false;
    for (std::size_t i = 0; i < 3; ++i) moved |= each(world, i);
    if (moved) return;
    // Nobody can move: all are done.
    for (std::size_t i = 0; i < 3; ++i) BOOST_REQUIRE((world.states[i] == World::State::left));
    ++ends;
  }

  std::size_t ends = 0;
  std::size_t waited = 0;

 private:
  bool each(const World& world, std::size_t i) {
    World next = world;
    switch (world.states[i]) {
      case World::State::away:
        next.base[i] = world.slowest().value_or(0);
        next.clocks.join(kTrainers[i]);
        next.states[i] = World::State::idle;
        break;
      case World::State::idle:
        if (world.steps[i] == World::kSteps) {
          leave(next, i);
        } else {
          static_cast<void>(next.clocks.wait(kTrainers[i], staleness_, i));
          next.states[i] = World::State::waits;
        }
        break;
      case World::State::may_step:
        next.clocks.took(kTrainers[i], 1);
        ++next.steps[i];
        next.states[i] = World::State::idle;
        break;
      case World::State::waits:
      case World::State::left: break;
    }
    const bool moves = world.states[i] != World::State::waits && world.states[i] != World::State::left;
    if (moves) go_on(next);
    const bool may_end_early =
        world.early_ends > 0 && world.states[i] != World::State::away && world.states[i] != World::State::left;
    if (may_end_early) {
      World without = world;
      --without.early_ends;
      leave(without, i);
      go_on(without);
    }
    return moves || may_end_early;
  }

  static void leave(World& world, std::size_t i) {
    const auto ended = world.clocks.leave(kTrainers[i]);
    BOOST_REQUIRE(ended.size() == (world.states[i] == World::State::waits ? 1U : 0U));
    world.states[i] = World::State::left;
  }

  void go_on(World& world) {
    for (const TrainerClocks::Ready& ready : world.clocks.take_ready()) {
      const auto i = static_cast<std::size_t>(ready.ticket);
      BOOST_REQUIRE((world.states[i] == World::State::waits));
      BOOST_REQUIRE(ready.clock == world.base[i] + world.steps[i]);
      world.states[i] = World::State::may_step;
    }
    const std::uint64_t least = world.slowest().value_or(0);
    BOOST_REQUIRE(world.clocks.slowest() == least);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t clock = world.base[i] + world.steps[i];
      if (world.states[i] == World::State::may_step) BOOST_REQUIRE(clock <= least + staleness_);
      if (world.states[i] != World::State::waits) continue;
      BOOST_REQUIRE(clock > least + staleness_);  // otherwise it would go on
      ++waited;
    }
    visit(world);
  }

  const std::uint64_t staleness_;
  std::set<decltype(std::declval<const World&>().key())> seen_;
};

BOOST_AUTO_TEST_CASE(trainers_are_never_further_apart_and_none_is_left_waiting_in_any_order) {
  for (const std::uint64_t staleness : {0U, 1U, 2U}) {
    EveryOrder order(staleness);
    order.visit(World());
    BOOST_TEST(order.ends > 0U);
    BOOST_TEST(order.waited > 10U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
