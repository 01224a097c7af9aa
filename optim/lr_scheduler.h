// Sets the step sizes of an optimizer by a schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "optim/local_optimizer.h"
#include "optim/lr_schedule.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Gives each group the rate of its schedule, and the momentum if there is a schedule of it; what a group has when this
/// is made is its base. Not safe for several threads at once.
class LrScheduler {
 public:
  /// Sets the rates of step 0. `optimizer` outlives this; no other scheduler sets its rates.
  /// Throws ValueError of a schedule that gives a rate which is not a number >= 0, as step() does.
  LrScheduler(LocalOptimizer& optimizer, LrSchedule schedule);

  /// With a schedule of the momentum too (lr_cycles.h), of the rules that have one. Throws as
  /// LocalOptimizer::set_momentum().
  LrScheduler(LocalOptimizer& optimizer, LrSchedule schedule, LrSchedule momentum);

  /// With a schedule for each group. Throws ValueError `[lr_scheduler] 1 schedules for 2 groups`.
  LrScheduler(LocalOptimizer& optimizer, std::vector<LrSchedule> schedules);

  /// One step, or epoch, is done: sets the rates of the next one.
  void step();

  /// How many are done.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

  /// For write_safetensors(): "lr_scheduler.steps" (i64) and "lr_scheduler.base" (f64, one per group). The base of the
  /// momentum is that of the options with which the rules are made.
  [[nodiscard]] NamedTensors state() const;

  /// Goes on from there, and sets its rates. Reads the names that begin with "lr_scheduler."; throws ValueError
  /// `[load_state] missing: lr_scheduler.steps` and changes nothing if they do not fit.
  void load_state(const NamedTensors& state);

 private:
  void set_rates();

  LocalOptimizer& optimizer_;
  std::vector<LrSchedule> schedules_;
  std::vector<double> base_;
  std::optional<LrSchedule> momentum_;
  std::vector<double> momentum_base_;
  std::int64_t steps_ = 0;
};

}  // namespace troupe::optim
