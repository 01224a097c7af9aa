// Cyclic schedules of the rate, each with a schedule of the momentum that runs in the opposite direction.
//
//   const optim::OneCycle cycle({.max_lr = 0.1, .total_steps = 10'000});
//   optim::LrScheduler scheduler(optimizer, cycle.lr(), cycle.momentum());   // lr_scheduler.h
#pragma once

#include <cstdint>
#include <optional>

#include "optim/lr_schedule.h"

namespace troupe::optim {

/// The curve between two rates.
enum class Anneal : std::uint8_t { cos, linear };

/// Settings of OneCycle.
struct OneCycleOptions {
  double max_lr = 0.1;           ///< the highest rate, >= 0
  std::int64_t total_steps = 2;  ///< length of the cycle, above 1; later steps repeat its last rate
  double pct_start = 0.3;        ///< the share of total_steps in which the rate rises, in [0, 1]
  Anneal anneal = Anneal::cos;
  double div_factor = 25.0;       ///< the first rate is max_lr / div_factor; above 0
  double final_div_factor = 1e4;  ///< the last rate is the first / final_div_factor; above 0
  bool three_phase = false;       ///< fall to the first rate as fast as the rise, then to the last rate
  double base_momentum = 0.85;    ///< momentum at the highest rate, >= 0
  double max_momentum = 0.95;     ///< momentum at the ends, >= 0
};

/// The rate rises from max_lr / div_factor to max_lr, then falls far below the first rate. The initial rate of a group
/// is ignored. Source: Smith and Topin, "Super-convergence: very fast training of neural networks using large learning
/// rates", 2018, in the form of torch.optim.lr_scheduler.OneCycleLR.
class OneCycle {
 public:
  /// Throws ValueError `[one_cycle] total_steps is not above 1: 1`, `[one_cycle] pct_start is not a number in [0, 1]:
  /// 2` and the like.
  explicit OneCycle(const OneCycleOptions& options);
  /// Returns the schedule of the rate, for an LrScheduler.
  [[nodiscard]] LrSchedule lr() const;
  /// Returns the schedule of the momentum, which falls while the rate rises.
  [[nodiscard]] LrSchedule momentum() const;

 private:
  OneCycleOptions options_;
};

/// How the height of a cycle, max_lr - base_lr, changes.
enum class CyclicMode : std::uint8_t {
  triangular,   ///< constant
  triangular2,  ///< halves with each cycle
  exp_range     ///< multiplied by gamma with each step
};

/// Settings of Cyclic.
struct CyclicOptions {
  double base_lr = 0.001;                                     ///< the lowest rate, >= 0
  double max_lr = 0.1;                                        ///< the highest rate of the first cycle, >= 0
  std::int64_t step_size_up = 2000;                           ///< steps from the lowest rate to the highest, above 0
  std::optional<std::int64_t> step_size_down = std::nullopt;  ///< steps back down, above 0; step_size_up if not given
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1.0;          ///< factor of exp_range, >= 0
  double base_momentum = 0.8;  ///< momentum at the highest rate, >= 0
  double max_momentum = 0.9;   ///< momentum at the lowest rate, >= 0
};

/// The rate rises and falls periodically. The initial rate of a group is ignored. Source: Smith, "Cyclical learning
/// rates for training neural networks", 2017, in the form of torch.optim.lr_scheduler.CyclicLR.
class Cyclic {
 public:
  /// Throws ValueError `[cyclic] step_size_up is not above 0: 0` and the like.
  explicit Cyclic(const CyclicOptions& options);
  /// Returns the schedule of the rate, for an LrScheduler.
  [[nodiscard]] LrSchedule lr() const;
  /// Returns the schedule of the momentum, which falls while the rate rises.
  [[nodiscard]] LrSchedule momentum() const;

 private:
  CyclicOptions options_;
};

}  // namespace troupe::optim
