#include "optim/lr_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string_view>

#include "optim/option_checks.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

double power(double gamma, std::int64_t exponent) { return std::pow(gamma, static_cast<double>(exponent)); }

}  // namespace

StepLr::StepLr(const StepLrOptions& options) : options_(options) {
  require_positive("step_lr", "step_size", options.step_size);
  require_not_negative("step_lr", "gamma", options.gamma);
}

double StepLr::operator()(double base, std::int64_t step) const {
  return base * power(options_.gamma, step / options_.step_size);
}

MultiStepLr::MultiStepLr(MultiStepLrOptions options) : options_(std::move(options)) {
  require_not_negative("multi_step_lr", "gamma", options_.gamma);
}

double MultiStepLr::operator()(double base, std::int64_t step) const {
  return base * power(options_.gamma,
                      std::ranges::count_if(options_.milestones, [step](std::int64_t m) { return m <= step; }));
}

ExponentialLr::ExponentialLr(const ExponentialLrOptions& options) : options_(options) {
  require_not_negative("exponential_lr", "gamma", options.gamma);
}

double ExponentialLr::operator()(double base, std::int64_t step) const { return base * power(options_.gamma, step); }

CosineAnnealingLr::CosineAnnealingLr(const CosineAnnealingLrOptions& options) : options_(options) {
  require_positive("cosine_annealing_lr", "t_max", options.t_max);
  require_not_negative("cosine_annealing_lr", "eta_min", options.eta_min);
}

double CosineAnnealingLr::operator()(double base, std::int64_t step) const {
  const double angle = std::numbers::pi * static_cast<double>(step) / static_cast<double>(options_.t_max);
  return options_.eta_min + (base - options_.eta_min) * (1.0 + std::cos(angle)) / 2.0;
}

LinearLr::LinearLr(const LinearLrOptions& options) : options_(options) {
  require_not_negative("linear_lr", "start_factor", options.start_factor);
  require_not_negative("linear_lr", "end_factor", options.end_factor);
  require_positive("linear_lr", "total_iters", options.total_iters);
}

double LinearLr::operator()(double base, std::int64_t step) const {
  const double way =
      static_cast<double>(std::min(step, options_.total_iters)) / static_cast<double>(options_.total_iters);
  return base * (options_.start_factor + (options_.end_factor - options_.start_factor) * way);
}

ConstantLr::ConstantLr(const ConstantLrOptions& options) : options_(options) {
  require_not_negative("constant_lr", "factor", options.factor);
  require_positive("constant_lr", "total_iters", options.total_iters);
}

double ConstantLr::operator()(double base, std::int64_t step) const {
  return step < options_.total_iters ? base * options_.factor : base;
}

PolynomialLr::PolynomialLr(const PolynomialLrOptions& options) : options_(options) {
  require_positive("polynomial_lr", "total_iters", options.total_iters);
  require_not_negative("polynomial_lr", "power", options.power);
}

double PolynomialLr::operator()(double base, std::int64_t step) const {
  const double way =
      static_cast<double>(std::min(step, options_.total_iters)) / static_cast<double>(options_.total_iters);
  return base * std::pow(1.0 - way, options_.power);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(const CosineAnnealingWarmRestartsOptions& options)
    : options_(options) {
  constexpr std::string_view kName = "cosine_annealing_warm_restarts";
  require_positive(kName, "t_0", options.t_0);
  require_positive(kName, "t_mult", options.t_mult);
  require_not_negative(kName, "eta_min", options.eta_min);
}

double CosineAnnealingWarmRestarts::operator()(double base, std::int64_t step) const {
  std::int64_t length = options_.t_0;
  std::int64_t left = options_.t_mult == 1 ? step % length : step;
  // A cycle whose length overflows 64 bits has not ended at any step.
  while (left >= length) {
    left -= length;
    if (__builtin_mul_overflow(length, options_.t_mult, &length)) length = std::numeric_limits<std::int64_t>::max();
  }
  const double angle = std::numbers::pi * static_cast<double>(left) / static_cast<double>(length);
  return options_.eta_min + (base - options_.eta_min) * (1.0 + std::cos(angle)) / 2.0;
}

ChainedLr::ChainedLr(std::vector<LrSchedule> schedules) : schedules_(std::move(schedules)) {
  if (schedules_.empty()) throw ValueError("[chained_lr] no schedules");
}

double ChainedLr::operator()(double base, std::int64_t step) const {
  double rate = base;
  for (const LrSchedule& schedule : schedules_) rate = schedule(rate, step);
  return rate;
}

SequentialLr::SequentialLr(std::vector<LrSchedule> schedules, std::vector<std::int64_t> milestones)
    : schedules_(std::move(schedules)), milestones_(std::move(milestones)) {
  if (schedules_.size() != milestones_.size() + 1) {
    throw ValueError(fmt::format("[sequential_lr] {} schedules have {} milestones between them, not {}",
                                 schedules_.size(), static_cast<std::int64_t>(schedules_.size()) - 1,
                                 milestones_.size()));
  }
  const bool ascend = std::ranges::adjacent_find(milestones_, std::greater_equal<>()) == milestones_.end();
  if (!ascend || (!milestones_.empty() && milestones_.front() <= 0)) {
    throw ValueError(
        fmt::format("[sequential_lr] milestones are not ascending and above 0: {}", fmt::join(milestones_, ", ")));
  }
}

double SequentialLr::operator()(double base, std::int64_t step) const {
  const auto next = std::ranges::upper_bound(milestones_, step);
  const std::int64_t begin = next == milestones_.begin() ? 0 : *std::prev(next);
  return schedules_[static_cast<std::size_t>(next - milestones_.begin())](base, step - begin);
}

}  // namespace troupe::optim
