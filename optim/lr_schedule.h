// Learning rates as functions of the step.
//
//   const optim::LrSchedule schedule = optim::SequentialLr(
//       {optim::LinearLr({.start_factor = 0.01, .total_iters = 500}), optim::CosineAnnealingLr({.t_max = 10'000})},
//       {500});
//   optim::LrScheduler scheduler(optimizer, schedule);   // lr_scheduler.h
//
// `step` counts steps or epochs, as the caller chooses, from 0. `base` is the initial rate of a group. Every schedule
// is in closed form: it returns the rate of any step, in any order. Equations are those of torch.optim.lr_scheduler.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace troupe::optim {

/// Holds any schedule: one of those below, or a function (double base, std::int64_t step) -> double.
class LrSchedule {
 public:
  template <class S>
    requires(!std::same_as<S, LrSchedule> && std::is_invocable_r_v<double, const S&, double, std::int64_t>)
  LrSchedule(S schedule) : rate_(std::move(schedule)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] double operator()(double base, std::int64_t step) const { return rate_(base, step); }

 private:
  std::function<double(double, std::int64_t)> rate_;
};

/// Settings of StepLr.
struct StepLrOptions {
  std::int64_t step_size = 1;  ///< steps between two changes, above 0
  double gamma = 0.1;          ///< factor of each change, >= 0
};

/// base * gamma^floor(step / step_size)
class StepLr {
 public:
  /// Throws ValueError `[step_lr] step_size is not above 0: 0`, `[step_lr] gamma is not a number >= 0: -1`.
  explicit StepLr(const StepLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  StepLrOptions options_;
};

/// Settings of MultiStepLr.
struct MultiStepLrOptions {
  std::vector<std::int64_t> milestones{};  ///< the steps at which the rate changes, in any order
  double gamma = 0.1;                      ///< factor of each change, >= 0
};

/// base * gamma^(number of milestones <= step)
class MultiStepLr {
 public:
  /// Throws ValueError `[multi_step_lr] gamma is not a number >= 0: -1`.
  explicit MultiStepLr(MultiStepLrOptions options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  MultiStepLrOptions options_;
};

/// Settings of ExponentialLr.
struct ExponentialLrOptions {
  double gamma = 0.9;  ///< factor of each step, >= 0
};

/// base * gamma^step
class ExponentialLr {
 public:
  /// Throws ValueError `[exponential_lr] gamma is not a number >= 0: -1`.
  explicit ExponentialLr(const ExponentialLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  ExponentialLrOptions options_;
};

/// Settings of CosineAnnealingLr.
struct CosineAnnealingLrOptions {
  std::int64_t t_max = 1;  ///< steps from the highest rate to the lowest, above 0
  double eta_min = 0.0;    ///< the lowest rate, >= 0
};

/// eta_min + (base - eta_min) * (1 + cos(pi * step / t_max)) / 2; after t_max the rate rises again.
/// Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, equation 5.
class CosineAnnealingLr {
 public:
  /// Throws ValueError `[cosine_annealing_lr] t_max is not above 0: 0`,
  /// `[cosine_annealing_lr] eta_min is not a number >= 0: -1`.
  explicit CosineAnnealingLr(const CosineAnnealingLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  CosineAnnealingLrOptions options_;
};

/// Settings of LinearLr.
struct LinearLrOptions {
  double start_factor = 1.0 / 3.0;  ///< factor of step 0, >= 0
  double end_factor = 1.0;          ///< factor from step total_iters on, >= 0
  std::int64_t total_iters = 5;     ///< step at which end_factor is reached, above 0
};

/// Warm-up: base * (start_factor + (end_factor - start_factor) * min(step, total_iters) / total_iters)
class LinearLr {
 public:
  /// Throws ValueError `[linear_lr] total_iters is not above 0: 0`, `[linear_lr] start_factor is not a number >= 0:
  /// -1`.
  explicit LinearLr(const LinearLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  LinearLrOptions options_;
};

/// Settings of ConstantLr.
struct ConstantLrOptions {
  double factor = 1.0 / 3.0;     ///< factor of the first total_iters steps, >= 0
  std::int64_t total_iters = 5;  ///< number of these steps, above 0
};

/// base * factor before step total_iters, then base
class ConstantLr {
 public:
  /// Throws ValueError `[constant_lr] total_iters is not above 0: 0`, `[constant_lr] factor is not a number >= 0: -1`.
  explicit ConstantLr(const ConstantLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  ConstantLrOptions options_;
};

/// Settings of PolynomialLr.
struct PolynomialLrOptions {
  std::int64_t total_iters = 5;  ///< steps until the rate is 0, above 0
  double power = 1.0;            ///< >= 0
};

/// base * (1 - min(step, total_iters) / total_iters)^power
class PolynomialLr {
 public:
  /// Throws ValueError `[polynomial_lr] total_iters is not above 0: 0`, `[polynomial_lr] power is not a number >= 0:
  /// -1`.
  explicit PolynomialLr(const PolynomialLrOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  PolynomialLrOptions options_;
};

/// Settings of CosineAnnealingWarmRestarts.
struct CosineAnnealingWarmRestartsOptions {
  std::int64_t t_0 = 1;     ///< steps of the first cycle, above 0
  std::int64_t t_mult = 1;  ///< length of a cycle divided by that of the one before, above 0
  double eta_min = 0.0;     ///< lowest rate of a cycle, >= 0
};

/// eta_min + (base - eta_min) * (1 + cos(pi * n / t)) / 2 at step n of a cycle of t steps.
/// Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
class CosineAnnealingWarmRestarts {
 public:
  /// Throws ValueError `[cosine_annealing_warm_restarts] t_0 is not above 0: 0` and the like.
  explicit CosineAnnealingWarmRestarts(const CosineAnnealingWarmRestartsOptions& options);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  CosineAnnealingWarmRestartsOptions options_;
};

/// Gives each schedule, as its base, the rate that the schedule before it returns. For schedules that multiply the base
/// by a factor, that is the product of the factors. (A cosine with eta_min above 0 does not: its rate ends at eta_min
/// here, but not in torch's recursion.)
class ChainedLr {
 public:
  /// Throws ValueError `[chained_lr] no schedules`.
  explicit ChainedLr(std::vector<LrSchedule> schedules);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  std::vector<LrSchedule> schedules_;
};

/// Runs schedules one after the other: schedule i begins at step milestones[i - 1] and counts its own steps from 0.
class SequentialLr {
 public:
  /// Throws ValueError `[sequential_lr] 3 schedules have 2 milestones between them, not 1`, `[sequential_lr] milestones
  /// are not ascending and above 0`.
  SequentialLr(std::vector<LrSchedule> schedules, std::vector<std::int64_t> milestones);
  [[nodiscard]] double operator()(double base, std::int64_t step) const;

 private:
  std::vector<LrSchedule> schedules_;
  std::vector<std::int64_t> milestones_;
};

}  // namespace troupe::optim
