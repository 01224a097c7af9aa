#include "optim/lr_cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "optim/option_checks.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

constexpr std::string_view kOneCycle = "one_cycle";
constexpr std::string_view kCyclic = "cyclic";

void require_above_0(std::string_view option, double value) {
  if (value > 0.0 && std::isfinite(value)) return;
  throw ValueError(fmt::format("[{}] {} is not above 0: {}", kOneCycle, option, value));
}

/// A phase of a schedule: the number moves from the previous phase's target to `target`, reached at step `end`.
struct Phase {
  double end;
  double target;
};

double between(Anneal anneal, double from, double to, double way) {
  if (anneal == Anneal::linear) return from + (to - from) * way;
  return to + (from - to) / 2.0 * (1.0 + std::cos(std::numbers::pi * way));
}

/// Returns the number at `step` of a schedule that begins at `first`.
double along(const std::vector<Phase>& phases, Anneal anneal, double first, double step) {
  double from = first;
  double begin = 0.0;
  for (const auto& [end, target] : phases) {
    if (step <= end) return between(anneal, from, target, end > begin ? (step - begin) / (end - begin) : 1.0);
    from = target;
    begin = end;
  }
  return from;
}

/// Returns the height at `step`: 0 at the ends of a cycle and 1 at the highest rate, times the remaining height of the
/// mode.
double height_at(const CyclicOptions& o, std::int64_t step) {
  const auto up = static_cast<double>(o.step_size_up);
  const double total = up + static_cast<double>(o.step_size_down.value_or(o.step_size_up));
  const double cycle = std::floor(1.0 + static_cast<double>(step) / total);
  const double at = 1.0 + static_cast<double>(step) / total - cycle;
  const double peak = up / total;
  const double height = at <= peak ? at / peak : (at - 1.0) / (peak - 1.0);
  switch (o.mode) {
    case CyclicMode::triangular: return height;
    case CyclicMode::triangular2: return height / std::pow(2.0, cycle - 1.0);
    case CyclicMode::exp_range: return height * std::pow(o.gamma, static_cast<double>(step));
  }
  throw ValueError(fmt::format("[{}] no mode has the number {}", kCyclic, static_cast<int>(o.mode)));
}

}  // namespace

OneCycle::OneCycle(const OneCycleOptions& options) : options_(options) {
  require_not_negative(kOneCycle, "max_lr", options.max_lr);
  if (options.total_steps <= 1)
    throw ValueError(fmt::format("[{}] total_steps is not above 1: {}", kOneCycle, options.total_steps));
  require_part(kOneCycle, "pct_start", options.pct_start);
  require_above_0("div_factor", options.div_factor);
  require_above_0("final_div_factor", options.final_div_factor);
  require_not_negative(kOneCycle, "base_momentum", options.base_momentum);
  require_not_negative(kOneCycle, "max_momentum", options.max_momentum);
}

LrSchedule OneCycle::lr() const {
  const OneCycleOptions& o = options_;
  const double first = o.max_lr / o.div_factor;
  const auto total = static_cast<double>(o.total_steps);
  const double rise = o.pct_start * total - 1.0;
  std::vector<Phase> phases{{rise, o.max_lr}};
  if (o.three_phase) phases.push_back({2.0 * o.pct_start * total - 2.0, first});
  phases.push_back({total - 1.0, first / o.final_div_factor});
  return {[phases, anneal = o.anneal, first](double /*base*/, std::int64_t step) {
    return along(phases, anneal, first, static_cast<double>(step));
  }};
}

LrSchedule OneCycle::momentum() const {
  const OneCycleOptions& o = options_;
  const auto total = static_cast<double>(o.total_steps);
  std::vector<Phase> phases{{o.pct_start * total - 1.0, o.base_momentum}};
  if (o.three_phase) phases.push_back({2.0 * o.pct_start * total - 2.0, o.max_momentum});
  phases.push_back({total - 1.0, o.max_momentum});
  return {[phases, anneal = o.anneal, first = o.max_momentum](double /*base*/, std::int64_t step) {
    return along(phases, anneal, first, static_cast<double>(step));
  }};
}

Cyclic::Cyclic(const CyclicOptions& options) : options_(options) {
  require_not_negative(kCyclic, "base_lr", options.base_lr);
  require_not_negative(kCyclic, "max_lr", options.max_lr);
  require_positive(kCyclic, "step_size_up", options.step_size_up);
  require_positive(kCyclic, "step_size_down", options.step_size_down.value_or(1));
  require_not_negative(kCyclic, "gamma", options.gamma);
  require_not_negative(kCyclic, "base_momentum", options.base_momentum);
  require_not_negative(kCyclic, "max_momentum", options.max_momentum);
}

LrSchedule Cyclic::lr() const {
  return {[o = options_](double /*base*/, std::int64_t step) {
    return o.base_lr + (o.max_lr - o.base_lr) * height_at(o, step);
  }};
}

LrSchedule Cyclic::momentum() const {
  return {[o = options_](double /*base*/, std::int64_t step) {
    return o.max_momentum - (o.max_momentum - o.base_momentum) * height_at(o, step);
  }};
}

}  // namespace troupe::optim
