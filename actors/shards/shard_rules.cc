#include "actors/shards/shard_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include "tensor/error.h"

namespace troupe::detail {
namespace {

Error step_error(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.operation = "step";
  error.message = std::move(message);
  error.execution = Execution::never;
  return error;
}

Error aborted(const StepId& step) {
  return step_error(ErrorCode::step_not_applied, fmt::format("step {} was aborted", step.text()));
}

Error too_many() {
  return step_error(ErrorCode::resource_exhausted,
                    fmt::format("{} steps have an outcome that their optimizer does not know", StepLedger::kStepsMax));
}

/// Returns the result of `work`, or its exception as an Error.
template <class Work>
std::invoke_result_t<Work> tried(Work work) {
  try {
    return work();
  } catch (const TensorError& error) {
    return step_error(ErrorCode::bad_argument, error.what());
  } catch (const std::bad_alloc&) {
    return step_error(ErrorCode::resource_exhausted, "no memory for the second buffers of the parameters");
  }
}

}  // namespace

Result<msg::ShardPrepared> ShardRules::prepare(const StepId& step, ShardParameters::Change change,
                                               std::vector<NodeLife> owners) {
  switch (ledger_.state(step)) {
    case msg::StepState::applied: return msg::ShardPrepared{step, 0};
    case msg::StepState::aborted: return aborted(step);
    case msg::StepState::prepared: return msg::ShardPrepared{step, prepared_.at(step).updated};
    case msg::StepState::unknown: break;
  }
  if (ledger_.full()) return too_many();
  return tried([&]() -> Result<msg::ShardPrepared> {
    const std::uint64_t updated = parameters_->prepare(step, change);
    ledger_.prepared(step, std::move(owners));
    try {
      prepared_.emplace(step, Prepared{std::move(change), updated, parameters_->open_step()});
    } catch (...) {
      ledger_.forget(step);
      throw;
    }
    return msg::ShardPrepared{step, updated};
  });
}

Result<msg::ShardStepped> ShardRules::commit(const StepId& step) {
  switch (ledger_.state(step)) {
    case msg::StepState::applied: return msg::ShardStepped{step, ledger_.version(step)};
    case msg::StepState::aborted: return aborted(step);
    case msg::StepState::prepared: break;
    case msg::StepState::unknown:
      return step_error(ErrorCode::step_not_applied, fmt::format("step {} was not prepared", step.text()));
  }
  const auto prepared = prepared_.find(step);
  auto stepped = apply(step, prepared->second.change);
  if (stepped) prepared_.erase(prepared);
  return stepped;
}

Result<msg::ShardStepped> ShardRules::step(const StepId& step, ShardParameters::Change change) {
  if (ledger_.state(step) != msg::StepState::unknown) return commit(step);
  if (ledger_.full()) return too_many();
  // Allocates the entry before anything changes: afterwards nothing may fail.
  auto stepped = tried([&]() -> Result<msg::ShardStepped> {
    ledger_.prepared(step, {});
    return apply(step, change);
  });
  if (!stepped) ledger_.forget(step);
  return stepped;
}

void ShardRules::abort(const StepId& step) {
  ledger_.aborted(step);
  if (ledger_.state(step) != msg::StepState::applied) give_back(step);
}

ShardRules::Words ShardRules::go_on() {
  Words words;
  for (bool changed = true; std::exchange(changed, false);) {
    StepLedger::Todo todo = ledger_.todo();
    for (const StepId& step : todo.abort) give_back(step);
    words.again = false;
    for (const StepId& step : todo.apply) {
      const bool applied = commit(step).ok();
      changed |= applied;
      words.changed |= applied;
      words.again |= !applied;
    }
    std::ranges::move(todo.questions, std::back_inserter(words.questions));
    for (StepLedger::Answer& answer : todo.answers) {
      words.answers.emplace_back(std::move(answer.asker), msg::ShardOutcome{answer.step, answer.state, version()});
    }
  }
  return words;
}

/// Releases what was prepared for the step.
void ShardRules::give_back(const StepId& step) {
  prepared_.erase(step);
  parameters_->drop(step);
}

Result<msg::ShardStepped> ShardRules::apply(const StepId& step, const ShardParameters::Change& change) {
  return tried([&]() -> Result<msg::ShardStepped> {
    parameters_->apply(step, change);
    ledger_.applied(step, version());
    if (std::holds_alternative<ShardParameters::GradientStep>(change)) ++steps_;
    return msg::ShardStepped{step, version()};
  });
}

}  // namespace troupe::detail
