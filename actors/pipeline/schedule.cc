#include "actors/pipeline/schedule.h"

#include <algorithm>

namespace troupe::detail {

std::vector<StageStep> forward_steps(std::size_t micro_batches, std::size_t stages) {
  std::vector<StageStep> steps;
  if (micro_batches == 0 || stages == 0) return steps;
  for (std::size_t cycle = 0; cycle < micro_batches + stages - 1; ++cycle) {
    const std::size_t first = cycle < stages ? 0 : cycle - stages + 1;
    for (std::size_t i = first; i <= std::min(cycle, micro_batches - 1); ++i) steps.push_back({i, cycle - i});
  }
  return steps;
}

std::size_t live_max(Schedule schedule, std::size_t stage, std::size_t stages, std::size_t micro_batches) {
  return schedule == Schedule::fill_drain ? micro_batches : std::min(stages - stage, micro_batches);
}

}  // namespace troupe::detail
