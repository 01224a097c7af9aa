#include "optim/lr_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "optim/saved_state.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

constexpr const char* kPrefix = "lr_scheduler.";

}  // namespace

LrScheduler::LrScheduler(LocalOptimizer& optimizer, LrSchedule schedule)
    : LrScheduler(optimizer, std::vector<LrSchedule>(optimizer.group_count(), schedule)) {}

LrScheduler::LrScheduler(LocalOptimizer& optimizer, std::vector<LrSchedule> schedules)
    : optimizer_(optimizer), schedules_(std::move(schedules)) {
  if (schedules_.size() != optimizer.group_count()) {
    throw ValueError(
        fmt::format("[lr_scheduler] {} schedules for {} groups", schedules_.size(), optimizer.group_count()));
  }
  for (std::size_t g = 0; g < schedules_.size(); ++g) base_.push_back(optimizer.lr(g));
  set_rates();
}

LrScheduler::LrScheduler(LocalOptimizer& optimizer, LrSchedule schedule, LrSchedule momentum)
    : LrScheduler(optimizer, std::move(schedule)) {
  momentum_ = std::move(momentum);
  for (std::size_t g = 0; g < schedules_.size(); ++g) momentum_base_.push_back(optimizer.momentum(g));
  set_rates();
}

void LrScheduler::step() {
  ++steps_;
  set_rates();
}

void LrScheduler::set_rates() {
  for (std::size_t g = 0; g < schedules_.size(); ++g) {
    optimizer_.set_lr(g, schedules_[g](base_[g], steps_));
    if (momentum_) optimizer_.set_momentum(g, (*momentum_)(momentum_base_[g], steps_));
  }
}

NamedTensors LrScheduler::state() const {
  return {{kPrefix + std::string("steps"), full({}, static_cast<double>(steps_), DType::i64)},
          {kPrefix + std::string("base"), from_values<double>(base_, {static_cast<std::int64_t>(base_.size())})}};
}

void LrScheduler::load_state(const NamedTensors& state) {
  SavedState saved(state, kPrefix);
  const std::int64_t steps = saved.take_integer("steps").value_or(0);
  if (steps < 0) saved.complain("steps", fmt::format("is {}, not >= 0", steps));
  const Tensor base = saved.take("base");
  const Shape shape{static_cast<std::int64_t>(base_.size())};
  if (base.defined() && (base.dtype() != DType::f64 || base.shape() != shape)) {
    saved.complain(
        "base", fmt::format("is {} {}, not f64 {}", name_of(base.dtype()), to_string(base.shape()), to_string(shape)));
  }
  saved.finish();
  const Tensor contiguous = base.contiguous();
  const auto values = contiguous.data<double>();
  if (std::ranges::any_of(values, [](double value) { return !(value >= 0.0) || !std::isfinite(value); })) {
    throw ValueError("[load_state] lr_scheduler.base are not numbers >= 0");
  }
  base_.assign(values.begin(), values.end());
  steps_ = steps;
  set_rates();
}

}  // namespace troupe::optim
