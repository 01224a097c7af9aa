#include "actors/shards/shard_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include "actors/shards/step_options.h"
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

/// The most tensors of a state: of each parameter, and options of groups.
constexpr std::size_t kTensorsPerParameterMax = 16;
constexpr std::size_t kOptionsMax = 1 << 16;

/// Forgets a step at the end of a scope, unless it was applied.
class UnlessApplied {
 public:
  UnlessApplied(StepLedger& ledger, const StepId& step) : ledger_(ledger), step_(step) {}
  UnlessApplied(const UnlessApplied&) = delete;
  UnlessApplied& operator=(const UnlessApplied&) = delete;
  ~UnlessApplied() {
    if (ledger_.state(step_) != msg::StepState::applied) ledger_.forget(step_);
  }

 private:
  StepLedger& ledger_;
  const StepId& step_;
};

/// Returns the result of `work`, or its exception as an Error.
template <class Work>
std::invoke_result_t<Work> tried(Work work) {
  try {
    return work();
  } catch (const DeviceMemoryError& error) {
    return step_error(ErrorCode::device_out_of_memory, error.what());
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
  if (!has_driver_) return aborted(step);
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

Result<msg::ShardPrepared> ShardRules::load(const msg::ShardLoad& part, std::vector<NodeLife> owners) {
  // The abort may overtake the parts: no later one would end what they leave.
  if (!has_driver_ || ledger_.state(part.step) == msg::StepState::aborted) return aborted(part.step);
  if (const auto refused = keep_part(part)) {
    loads_.erase(part.step);
    return step_error(ErrorCode::protocol_violation, *refused);
  }
  if (!part.is_last) return msg::ShardPrepared{part.step, 0};
  ShardParameters::Load change{std::move(loads_.extract(part.step).mapped())};
  return prepare(part.step, std::move(change), std::move(owners));
}

std::optional<std::string> ShardRules::keep_part(const msg::ShardLoad& part) {
  if (part.names.size() != part.tensors.size()) return "a state has not one name for each tensor";
  if (loads_.size() >= kUnresolvedStepsMax && !loads_.contains(part.step)) return "too many states are unfinished";
  NamedTensors& state = loads_[part.step];
  if (part.first != state.size()) {
    return fmt::format("a part of a state begins with tensor {}, after {} tensors", part.first, state.size());
  }
  const std::size_t size = part.first + part.names.size();
  if (size > parameters_->size() * kTensorsPerParameterMax + kOptionsMax) {
    return fmt::format("a state of {} tensors for {} parameters", size, parameters_->size());
  }
  for (std::size_t i = 0; i < part.names.size(); ++i) state.emplace_back(part.names[i], part.tensors[i]);
  return std::nullopt;
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
  auto stepped = tried([&]() -> Result<msg::ShardStepped> { return apply(step, prepared->second.change); });
  if (stepped) prepared_.erase(prepared);
  return stepped;
}

Result<msg::ShardStepped> ShardRules::step(const StepId& step, ShardParameters::Change change) {
  if (ledger_.state(step) != msg::StepState::unknown) return commit(step);
  if (!has_driver_) return aborted(step);
  if (ledger_.full()) return too_many();
  return tried([&]() -> Result<msg::ShardStepped> {
    const UnlessApplied ends(ledger_, step);
    ledger_.prepared(step, {});
    return apply(step, change);
  });
}

void ShardRules::abort(const StepId& step) {
  loads_.erase(step);
  ledger_.aborted(step);
  if (ledger_.state(step) != msg::StepState::applied) give_back(step);
}

void ShardRules::settled(std::uint64_t floor) {
  std::erase_if(loads_, [floor](const auto& load) { return load.first.serial < floor; });
  ledger_.settled(floor);
}

void ShardRules::driver_gone() {
  has_driver_ = false;
  loads_.clear();
  ledger_.driver_gone();
}

ShardRules::Words& ShardRules::go_on() {
  for (bool changed = true; std::exchange(changed, false);) {
    StepLedger::Todo todo = ledger_.todo();
    words_.questions.splice(words_.questions.end(), todo.questions);  // first: it takes no memory
    words_.answers.splice(words_.answers.end(), todo.answers);
    for (const StepId& step : todo.abort) give_back(step);
    words_.again = false;
    for (const StepId& step : todo.apply) {
      const bool applied = commit(step).ok();
      changed |= applied;
      words_.changed |= applied;
      words_.again |= !applied;
    }
  }
  return words_;
}

/// Releases what was prepared for the step.
void ShardRules::give_back(const StepId& step) {
  prepared_.erase(step);
  parameters_->drop(step);
}

/// Allocates before it changes anything: once the step shows, nothing fails. Throws as ShardParameters::apply().
msg::ShardStepped ShardRules::apply(const StepId& step, const ShardParameters::Change& change) {
  msg::ShardStepped stepped{step, 0};
  parameters_->apply(step, change);
  stepped.version = version();
  ledger_.applied(step, stepped.version);
  if (std::holds_alternative<ShardParameters::GradientStep>(change)) ++steps_;
  return stepped;
}

}  // namespace troupe::detail
