// Sets the step sizes of an optimizer by a schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "optim/lr_schedule.h"
#include "optim/rate_groups.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Sets each group's rate, and with a momentum schedule its momentum. Their bases are the group's values at
/// construction. Not thread-safe.
class LrScheduler {
 public:
  /// Sets the rates of step 0. REQUIRES: `optimizer` outlives the scheduler, and no other scheduler sets its rates.
  /// Throws ValueError, as step() does, if a schedule returns a rate that is not a number >= 0.
  LrScheduler(RateGroups& optimizer, LrSchedule schedule);

  /// The same, with a schedule of the momentum (lr_cycles.h). Throws as RateGroups::set_momentum(), so every
  /// group's rule must have a momentum.
  LrScheduler(RateGroups& optimizer, LrSchedule schedule, LrSchedule momentum);

  /// The same with one schedule per group. Throws ValueError `[lr_scheduler] 1 schedules for 2 groups`.
  LrScheduler(RateGroups& optimizer, std::vector<LrSchedule> schedules);

  /// Counts one finished step or epoch and sets the rates of the next. If it throws, it has changed nothing.
  void step();

  /// Returns the number of finished steps or epochs.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

  /// Returns the state for write_safetensors(): "lr_scheduler.steps" (i64) and "lr_scheduler.base" (f64, one per
  /// group). The base of the momentum is in the options that construct the rules.
  [[nodiscard]] NamedTensors state_dict() const;

  /// Restores a saved state and sets its rates. Reads the names that begin with "lr_scheduler.". If they do not fit,
  /// throws ValueError `[load_state_dict] missing: lr_scheduler.steps` and changes nothing.
  void load_state_dict(const NamedTensors& state);

 private:
  void set_bases();
  void set_rates(std::int64_t steps);

  RateGroups& optimizer_;
  std::vector<LrSchedule> schedules_;
  std::vector<double> base_;
  std::vector<LrSchedule> momentum_;  ///< at most one
  std::vector<double> momentum_base_;
  std::int64_t steps_ = 0;
};

}  // namespace troupe::optim
