#include "optim/reduce_lr_on_plateau.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "optim/option_checks.h"
#include "optim/saved_state.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

constexpr std::string_view kName = "reduce_lr_on_plateau";
constexpr const char* kPrefix = "plateau.";

void require_count(std::string_view option, std::int64_t value) {
  if (value < 0) throw ValueError(fmt::format("[{}] {} is not >= 0: {}", kName, option, value));
}

}  // namespace

ReduceLrOnPlateau::ReduceLrOnPlateau(RateGroups& optimizer, const PlateauOptions& options)
    : optimizer_(optimizer),
      options_(options),
      best_(options.mode == PlateauMode::min ? std::numeric_limits<double>::infinity()
                                             : -std::numeric_limits<double>::infinity()) {
  require_share(kName, "factor", options.factor);
  require_count("patience", options.patience);
  require_not_negative(kName, "threshold", options.threshold);
  require_count("cooldown", options.cooldown);
  require_not_negative(kName, "min_lr", options.min_lr);
  require_not_negative(kName, "eps", options.eps);
}

void ReduceLrOnPlateau::step(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    bad_steps_ = 0;
  } else {
    ++bad_steps_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_steps_ = 0;
  }
  if (bad_steps_ <= options_.patience) return;
  reduce();
  cooldown_ = options_.cooldown;
  bad_steps_ = 0;
}

bool ReduceLrOnPlateau::is_better(double metric) const {
  const double change = options_.mode == PlateauMode::min ? -options_.threshold : options_.threshold;
  const double bound = options_.threshold_mode == Threshold::rel ? best_ * (1.0 + change) : best_ + change;
  return options_.mode == PlateauMode::min ? metric < bound : metric > bound;
}

void ReduceLrOnPlateau::reduce() {
  for (std::size_t g = 0; g < optimizer_.group_count(); ++g) {
    const double before = optimizer_.lr(g);
    const double after = std::max(before * options_.factor, options_.min_lr);
    if (before - after > options_.eps) optimizer_.set_lr(g, after);
  }
}

NamedTensors ReduceLrOnPlateau::state_dict() const {
  return {{kPrefix + std::string("best"), full({}, best_, DType::f64)},
          {kPrefix + std::string("bad_steps"), full({}, static_cast<double>(bad_steps_), DType::i64)},
          {kPrefix + std::string("cooldown"), full({}, static_cast<double>(cooldown_), DType::i64)}};
}

void ReduceLrOnPlateau::load_state_dict(const NamedTensors& state) {
  SavedState saved(state, kPrefix);
  const auto take_count = [&](const std::string& name) {
    const std::int64_t count = saved.take_integer(name).value_or(0);
    if (count < 0) saved.complain(name, fmt::format("is {}, not >= 0", count));
    return count;
  };
  const double best = saved.take_number("best").value_or(0.0);
  const std::int64_t bad_steps = take_count("bad_steps");
  const std::int64_t cooldown = take_count("cooldown");
  saved.finish();
  best_ = best;
  bad_steps_ = bad_steps;
  cooldown_ = cooldown;
}

}  // namespace troupe::optim
