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

LrScheduler::LrScheduler(RateGroups& optimizer, LrSchedule schedule)
    : LrScheduler(optimizer, std::vector<LrSchedule>(optimizer.group_count(), schedule)) {}

LrScheduler::LrScheduler(RateGroups& optimizer, std::vector<LrSchedule> schedules)
    : optimizer_(optimizer), schedules_(std::move(schedules)) {
  if (schedules_.size() != optimizer.group_count()) {
    throw ValueError(
        fmt::format("[lr_scheduler] {} schedules for {} groups", schedules_.size(), optimizer.group_count()));
  }
  set_bases();
  set_rates(0);
}

LrScheduler::LrScheduler(RateGroups& optimizer, LrSchedule schedule, LrSchedule momentum)
    : optimizer_(optimizer), schedules_(optimizer.group_count(), schedule), momentum_{std::move(momentum)} {
  set_bases();
  set_rates(0);
}

void LrScheduler::step() { set_rates(steps_ + 1); }

void LrScheduler::set_bases() {
  for (std::size_t g = 0; g < schedules_.size(); ++g) {
    base_.push_back(optimizer_.lr(g));
    if (!momentum_.empty()) momentum_base_.push_back(optimizer_.momentum(g));
  }
}

void LrScheduler::set_rates(std::int64_t steps) {
  struct Rates {
    double lr = 0.0;
    double momentum = 0.0;
  };
  std::vector<Rates> before(schedules_.size());
  std::vector<Rates> next(schedules_.size());
  for (std::size_t g = 0; g < schedules_.size(); ++g) {
    before[g].lr = optimizer_.lr(g);
    next[g].lr = schedules_[g](base_[g], steps);
    if (momentum_.empty()) continue;
    before[g].momentum = optimizer_.momentum(g);
    next[g].momentum = momentum_.front()(momentum_base_[g], steps);
  }
  const auto set = [this](std::size_t group, const Rates& rates) {
    optimizer_.set_lr(group, rates.lr);
    if (!momentum_.empty()) optimizer_.set_momentum(group, rates.momentum);
  };
  std::size_t g = 0;
  try {
    for (; g < next.size(); ++g) set(g, next[g]);
  } catch (...) {
    for (std::size_t i = 0; i <= g; ++i) set(i, before[i]);
    throw;
  }
  steps_ = steps;
}

NamedTensors LrScheduler::state_dict() const {
  return {{kPrefix + std::string("steps"), full({}, static_cast<double>(steps_), DType::i64)},
          {kPrefix + std::string("base"), from_values<double>(base_, {static_cast<std::int64_t>(base_.size())})}};
}

void LrScheduler::load_state_dict(const NamedTensors& state) {
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
    throw ValueError("[load_state_dict] lr_scheduler.base are not numbers >= 0");
  }
  const std::vector<double> base_before = std::exchange(base_, std::vector<double>(values.begin(), values.end()));
  try {
    set_rates(steps);
  } catch (...) {
    base_ = base_before;
    throw;
  }
}

}  // namespace troupe::optim
