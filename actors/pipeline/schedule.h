// In which order the micro-batches of a round go through the stages. Plain rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/pipeline/pipeline_options.h"

namespace troupe::detail {

/// One micro-batch in one stage.
struct StageStep {
  std::size_t micro_batch = 0;
  std::size_t stage = 0;
  friend bool operator==(const StageStep&, const StageStep&) = default;
};

/// Returns the forward steps of `micro_batches` micro-batches in `stages` stages, cycle by cycle: in cycle c,
/// micro-batch i is in stage c - i. Each step follows those on which it depends: the same micro-batch in the stage
/// before, and the micro-batch before in the same stage. Source: Kim et al., "torchgpipe", 2020, section 3.1.
[[nodiscard]] std::vector<StageStep> forward_steps(std::size_t micro_batches, std::size_t stages);

/// Returns how many micro-batches of a round may be live in `stage` at a time: they have entered it, and their backward
/// has not left it. fill_drain: all of them. one_f_one_b: stages - stage. Then a stage that has as many alternates one
/// backward and one forward by itself: it has no other step to take. Source: Narayanan et al., "PipeDream", 2019.
[[nodiscard]] std::size_t live_max(Schedule schedule, std::size_t stage, std::size_t stages, std::size_t micro_batches);

}  // namespace troupe::detail
