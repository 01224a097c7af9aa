#include "actors/pipeline/schedule.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/pipeline/stage_gate.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(schedule)

namespace {

using boost::unit_test::label;
using Steps = std::vector<StageStep>;

/// Runs a round cycle by cycle, as stages do that take one step per cycle: a backward if one is ready, else a forward
/// if the gate admits it. Returns what each stage did, "F0 F1 B0", and checks the number of live micro-batches.
std::vector<std::string> run_cycles(Schedule schedule, std::size_t count, std::size_t stages) {
  std::vector<StageGate> gates(stages);
  std::vector<std::size_t> arrived(stages, 0);
  std::vector<std::set<std::size_t>> backward_ready(stages);
  std::vector<std::string> done(stages);
  const auto plan = [&](std::size_t stage) {
    return RoundPlan{
        {}, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(live_max(schedule, stage, stages, count))};
  };
  const auto arrive = [&](std::size_t stage) {
    BOOST_TEST(gates[stage].arrive(plan(stage), static_cast<std::uint32_t>(arrived[stage]++)));
  };
  for (std::size_t i = 0; i < count; ++i) arrive(0);
  std::size_t left = 2 * count * stages;
  std::size_t drained = 0;  // fill_drain: micro-batches that have left the last stage
  for (std::size_t cycle = 0; left > 0; ++cycle) {
    BOOST_TEST_REQUIRE(cycle < 4 * (count + stages));  // else it hangs
    std::vector<std::pair<std::size_t, bool>> took;    // stage, whether it went forward: they take effect together
    std::vector<std::size_t> which;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (!backward_ready[stage].empty()) {
        const std::size_t i = *backward_ready[stage].begin();
        backward_ready[stage].erase(i);
        done[stage] += " B" + std::to_string(i);
        took.emplace_back(stage, false);
        which.push_back(i);
      } else if (const auto batch = gates[stage].admit()) {
        gates[stage].leave(*batch);
        done[stage] += " F" + std::to_string(batch->index);
        took.emplace_back(stage, true);
        which.push_back(batch->index);
      }
      BOOST_TEST(gates[stage].live({}) <= live_max(schedule, stage, stages, count));
    }
    for (std::size_t k = 0; k < took.size(); ++k, --left) {
      const auto [stage, forward] = took[k];
      if (forward && stage + 1 < stages) arrive(stage + 1);
      if (forward && stage + 1 == stages && schedule == Schedule::one_f_one_b) backward_ready[stage].insert(which[k]);
      if (forward && stage + 1 == stages && ++drained == count && schedule == Schedule::fill_drain) {
        for (std::size_t i = 0; i < count; ++i) backward_ready[stage].insert(i);
      }
      if (!forward) {
        gates[stage].settle({{}, static_cast<std::uint32_t>(which[k])});
        if (stage > 0) backward_ready[stage - 1].insert(which[k]);
      }
    }
  }
  for (const StageGate& gate : gates) BOOST_TEST(gate.size() == 0U);
  return done;
}

/// Min(stages - stage, count) forwards, then one backward and one forward in turn, then the other backwards.
std::string one_forward_one_backward(std::size_t stage, std::size_t stages, std::size_t count) {
  std::string order;
  std::size_t forward = 0;
  for (; forward < std::min(stages - stage, count); ++forward) order += " F" + std::to_string(forward);
  for (std::size_t backward = 0; backward < count; ++backward) {
    order += " B" + std::to_string(backward);
    if (forward < count) order += " F" + std::to_string(forward++);
  }
  return order;
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_go_along_diagonals, *label("H-12")) {
  // Cycle 0: (0,0); 1: (0,1) (1,0); 2: (0,2) (1,1) (2,0); 3: (1,2) (2,1); 4: (2,2)
  const Steps want{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {2, 0}, {1, 2}, {2, 1}, {2, 2}};
  BOOST_TEST((forward_steps(3, 3) == want));
  BOOST_TEST((forward_steps(1, 3) == Steps{{0, 0}, {0, 1}, {0, 2}}));
  BOOST_TEST((forward_steps(3, 1) == Steps{{0, 0}, {1, 0}, {2, 0}}));
  BOOST_TEST((forward_steps(4, 2) == Steps{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}));
  BOOST_TEST(forward_steps(0, 3).empty());
  BOOST_TEST(forward_steps(3, 0).empty());
}

BOOST_AUTO_TEST_CASE(each_step_is_taken_once_and_after_those_on_which_it_depends, *label("H-12")) {
  for (std::size_t count = 1; count <= 9; ++count) {
    for (std::size_t stages = 1; stages <= 9; ++stages) {
      std::set<std::pair<std::size_t, std::size_t>> taken;
      std::size_t cycle = 0;
      for (const StageStep& step : forward_steps(count, stages)) {
        BOOST_TEST(step.micro_batch + step.stage >= cycle);
        cycle = step.micro_batch + step.stage;
        if (step.stage > 0) BOOST_TEST(taken.contains({step.micro_batch, step.stage - 1}));
        if (step.micro_batch > 0) BOOST_TEST(taken.contains({step.micro_batch - 1, step.stage}));
        BOOST_TEST(taken.emplace(step.micro_batch, step.stage).second);
      }
      BOOST_TEST(taken.size() == count * stages);
    }
  }
}

BOOST_AUTO_TEST_CASE(stages_that_may_have_as_many_live_alternate_by_themselves) {
  for (std::size_t count = 1; count <= 9; ++count) {
    for (std::size_t stages = 1; stages <= 6; ++stages) {
      const auto done = run_cycles(Schedule::one_f_one_b, count, stages);
      for (std::size_t stage = 0; stage < stages; ++stage) {
        BOOST_TEST(done[stage] == one_forward_one_backward(stage, stages, count),
                   done[stage] << " in stage " << stage << " of " << stages << ", " << count << " micro-batches");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(filling_and_draining_takes_all_forwards_first) {
  for (std::size_t count = 1; count <= 6; ++count) {
    for (std::size_t stages = 1; stages <= 4; ++stages) {
      std::string forwards;
      std::string backwards;
      for (std::size_t i = 0; i < count; ++i) {
        forwards += " F" + std::to_string(i);
        backwards += " B" + std::to_string(i);
      }
      for (const std::string& done : run_cycles(Schedule::fill_drain, count, stages)) {
        BOOST_TEST(done == forwards + backwards);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(last_stage_keeps_one_micro_batch_and_each_stage_before_it_one_more) {
  BOOST_TEST(live_max(Schedule::one_f_one_b, 0, 4, 8) == 4U);
  BOOST_TEST(live_max(Schedule::one_f_one_b, 3, 4, 8) == 1U);
  BOOST_TEST(live_max(Schedule::one_f_one_b, 0, 4, 2) == 2U);
  BOOST_TEST(live_max(Schedule::fill_drain, 3, 4, 8) == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
