// Schedules that rise and fall, each with the momentum that goes the other way.
//
//   const optim::OneCycle cycle({.max_lr = 0.1, .total_steps = 10'000});
//   optim::LrScheduler scheduler(optimizer, cycle.lr(), cycle.momentum());   // lr_scheduler.h
#pragma once

#include <cstdint>
#include <optional>

#include "optim/lr_schedule.h"

namespace troupe::optim {

/// The form of a way from one number to another.
enum class Anneal : std::uint8_t { cos, linear };

/// Settings of OneCycle.
struct OneCycleOptions {
  double max_lr = 0.1;           ///< the highest rate, >= 0
  std::int64_t total_steps = 2;  ///< of the cycle, above 1; all that follow are like its last
  double pct_start = 0.3;        ///< the part of them in which the rate rises, in [0, 1]
  Anneal anneal = Anneal::cos;
  double div_factor = 25.0;       ///< the first rate is max_lr / div_factor; above 0
  double final_div_factor = 1e4;  ///< the last one is the first / final_div_factor; above 0
  bool three_phase = false;       ///< falls to the first rate as fast as it rose, and only then to the last
  double base_momentum = 0.85;    ///< at the highest rate, >= 0
  double max_momentum = 0.95;     ///< at the ends, >= 0
};

/// The rate rises from max_lr / div_factor to max_lr, then falls far below where it began. It does not look at the rate
/// that a group began with. Source: Smith and Topin, "Super-convergence: very fast training of neural networks using
/// large learning rates", 2018, in the form of torch.optim.lr_scheduler.OneCycleLR.
class OneCycle {
 public:
  /// Throws ValueError `[one_cycle] total_steps is not above 1: 1`, `[one_cycle] pct_start is not a number in [0, 1]:
  /// 2` and the like.
  explicit OneCycle(const OneCycleOptions& options);
  [[nodiscard]] LrSchedule lr() const;
  [[nodiscard]] LrSchedule momentum() const;

 private:
  OneCycleOptions options_;
};

/// How the height of a cycle changes.
enum class CyclicMode : std::uint8_t {
  triangular,   ///< not at all
  triangular2,  ///< half of it is left with each cycle
  exp_range     ///< by gamma with each step
};

/// Settings of Cyclic.
struct CyclicOptions {
  double base_lr = 0.001;                                     ///< the lowest rate, >= 0
  double max_lr = 0.1;                                        ///< the highest of the first cycle, >= 0
  std::int64_t step_size_up = 2000;                           ///< steps from the lowest rate to the highest, above 0
  std::optional<std::int64_t> step_size_down = std::nullopt;  ///< and back; as many if not given; above 0
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1.0;          ///< >= 0
  double base_momentum = 0.8;  ///< at the highest rate, >= 0
  double max_momentum = 0.9;   ///< at the lowest, >= 0
};

/// The rate rises and falls again and again. It does not look at the rate that a group began with. Source: Smith,
/// "Cyclical learning rates for training neural networks", 2017, in the form of torch.optim.lr_scheduler.CyclicLR.
class Cyclic {
 public:
  /// Throws ValueError `[cyclic] step_size_up is not above 0: 0` and the like.
  explicit Cyclic(const CyclicOptions& options);
  [[nodiscard]] LrSchedule lr() const;
  [[nodiscard]] LrSchedule momentum() const;

 private:
  CyclicOptions options_;
};

}  // namespace troupe::optim
