#include "actors/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "actors/core/node_core.h"
#include "actors/deadline.h"

namespace troupe {
namespace {

/// Throws std::invalid_argument if a value is out of its range.
void check(const RetryPolicy& policy) {
  const auto check_pause = [](const char* name, Duration pause) {
    if (pause < Duration::zero())
      throw std::invalid_argument(fmt::format("[RetryPolicy] {} is negative: {} ns", name, pause.count()));
  };
  check_pause("pause", policy.pause);
  check_pause("pause_max", policy.pause_max);
  if (policy.attempts_max < 1)
    throw std::invalid_argument(fmt::format("[RetryPolicy] attempts_max is below 1: {}", policy.attempts_max));
  if (!(policy.budget >= 0))  // NaN is not, either
    throw std::invalid_argument(fmt::format("[RetryPolicy] budget is not 0 or more: {}", policy.budget));
}

}  // namespace

std::shared_ptr<const CallPath> detail::root_path() {
  using Root = std::shared_ptr<const CallPath>;
  static const Root& root = *std::make_unique<const Root>(std::make_shared<const CallPath>()).release();
  return root;
}

std::shared_ptr<detail::CallCounters> detail::new_counters() { return std::make_shared<CallCounters>(); }

std::optional<TimePoint> detail::due_of(const ScopeState& scope) {
  std::optional<TimePoint> due = scope.due;
  std::optional<Duration> limit = scope.call_deadline;
  if (!limit && !scope.unlimited) limit = scope.node->call_deadline().after();
  if (limit) {
    const auto own = later(scope.node->clock().now(), *limit);
    due = due && own ? std::min(*due, *own) : own ? own : due;
  }
  return due;
}

detail::FutureHome detail::future_home_of(const Scope& scope) { return scope.state().node->future_home(); }

detail::CallEncoder Scope::encoder_for(const To& to, const detail::CallableKey& key) const {
  return {state_, to.rank ? detail::name_of(*state_, *to.rank) : Result<NodeName>(to.name), to.site, key};
}

Scope Scope::with(CallOptions options) const {
  if (options.retry) check(*options.retry);
  auto state = std::make_shared<detail::ScopeState>(*state_);  // shares path and counters
  if (options.deadline) {
    const auto after = options.deadline->after();
    state->call_deadline = after;
    state->unlimited = !after;
  }
  state->repeat = options.repeat.value_or(state->repeat);
  state->retry = options.retry.value_or(state->retry);
  state->trace = options.trace.value_or(state->trace);
  state->sharing = options.sharing.value_or(state->sharing);
  state->priority = options.priority.value_or(state->priority);
  state->unreachable = options.unreachable.value_or(state->unreachable);
  return Scope(std::move(state));
}

NodeLife Scope::node_life() const { return {state_->node->name(), state_->node->incarnation()}; }

const NodeName& Scope::node_name() const { return state_->node->name(); }

std::uint64_t Scope::trace() const { return state_->trace; }

const NodeName& Scope::caller() const { return state_->caller.empty() ? node_name() : state_->caller; }

std::optional<Duration> Scope::time_left() const {
  std::optional<Duration> left = state_->call_deadline;
  if (state_->due) {
    const Duration until = *state_->due - state_->node->clock().now();
    left = left ? std::min(*left, until) : until;
  }
  return left;
}

std::stop_token Scope::stop_token() const { return state_->stop; }

}  // namespace troupe
