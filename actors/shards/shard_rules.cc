#include "actors/shards/shard_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <type_traits>
#include <unordered_set>
#include <utility>

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

ShardRules::ShardRules(NodeLife self, std::unique_ptr<optim::Optimizer> rule, std::vector<Variable> parameters)
    : rule_(std::move(rule)),
      lr_(rule_->lr()),
      parameters_(std::move(parameters)),
      buffers_(parameters_.size()),
      ledger_(std::move(self)) {
  std::unordered_set<const void*> seen;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& parameter = parameters_[i];
    if (!parameter.defined() || !parameter.is_leaf() || !parameter.requires_grad()) {
      throw TensorError(fmt::format("[optimizer] parameter {} is not a leaf that requires a gradient", i));
    }
    if (!seen.insert(parameter.id()).second)
      throw TensorError(fmt::format("[optimizer] parameter {} is given twice", i));
  }
}

Result<msg::ShardPrepared> ShardRules::prepare(const StepId& step, const Gradients& gradients,
                                               std::vector<NodeLife> owners, const msg::StepSettings& settings) {
  switch (ledger_.state(step)) {
    case msg::StepState::applied: return msg::ShardPrepared{step, 0};
    case msg::StepState::aborted: return aborted(step);
    case msg::StepState::prepared: return msg::ShardPrepared{step, open_.at(step).updated};
    case msg::StepState::unknown: break;
  }
  if (ledger_.full()) return too_many();
  return tried([&]() -> Result<msg::ShardPrepared> {
    drop_ready();
    Inputs inputs{gradients, settings};
    compute(step, inputs);
    const std::uint64_t updated = ready_->updates.size();
    ledger_.prepared(step, std::move(owners));
    try {
      open_.emplace(step, Open{std::move(inputs), updated});
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
  const auto open = open_.find(step);
  auto stepped = apply(step, open->second.inputs);
  if (stepped) open_.erase(open);
  return stepped;
}

Result<msg::ShardStepped> ShardRules::step(const StepId& step, const Gradients& gradients,
                                           const msg::StepSettings& settings) {
  if (ledger_.state(step) != msg::StepState::unknown) return commit(step);
  if (ledger_.full()) return too_many();
  // Allocates the entry before anything changes: afterwards nothing may fail.
  auto stepped = tried([&]() -> Result<msg::ShardStepped> {
    ledger_.prepared(step, {});
    return apply(step, {gradients, settings});
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
      words.answers.emplace_back(std::move(answer.asker), msg::ShardOutcome{answer.step, answer.state, version_});
    }
  }
  return words;
}

/// Releases what was prepared for the step.
void ShardRules::give_back(const StepId& step) {
  open_.erase(step);
  if (ready_ && ready_->step == step) drop_ready();
}

Result<msg::ShardStepped> ShardRules::apply(const StepId& step, const Inputs& inputs) {
  return tried([&]() -> Result<msg::ShardStepped> {
    if (!ready_ || ready_->step != step || !is_current(*ready_)) {
      drop_ready();
      compute(step, inputs);
    }
    make_visible(step);
    return msg::ShardStepped{step, version_};
  });
}

/// All or nothing: if one value does not fit any more, because it was just converted, no value changes.
void ShardRules::make_visible(const StepId& step) {
  std::size_t set = 0;
  try {
    for (; set < ready_->updates.size(); ++set)
      parameters_[ready_->updates[set].index].set_value(ready_->updates[set].next);
  } catch (...) {
    while (set-- > 0) parameters_[ready_->updates[set].index].set_value(ready_->updates[set].current);
    throw;
  }
  rule_->commit();
  ledger_.applied(step, ++version_);
  for (optim::ParameterUpdate& update : ready_->updates) keep(std::move(update.current), update.next, update);
  ready_.reset();
}

void ShardRules::compute(const StepId& step, const Inputs& inputs) {
  const auto& [gradients, settings] = inputs;
  rule_->set_lr(settings.lr.value_or(lr_));
  Ready ready{step, {}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor current = parameters_[i].value();
    const SparseTensor rows = rule_->zero_changes_nothing() ? gradients.sparse_of(parameters_[i]) : SparseTensor();
    if (rows.defined() && rows.sparse_dim() == 1 && rows.shape() == current.shape()) {
      const Tensor numbers = rows.indices().select(0, 0);
      Tensor next = buffers_.take_equal(i, current, numbers);
      ready.updates.push_back({i, std::move(current), rows.values(), std::move(next), numbers});
    } else if (Tensor gradient = gradients.of(parameters_[i]); gradient.defined()) {
      Tensor next = buffers_.take(i, current);
      ready.updates.push_back({i, std::move(current), std::move(gradient), std::move(next)});
    }
  }
  rule_->prepare(ready.updates, {.gradient_scale = settings.gradient_scale, .gradient_limit = settings.gradient_limit});
  ready_ = std::move(ready);
}

void ShardRules::drop_ready() {
  if (!ready_) return;
  for (optim::ParameterUpdate& update : ready_->updates) keep(std::move(update.next), update.current, update);
  ready_.reset();
  rule_->rollback();
}

void ShardRules::keep(Tensor memory, const Tensor& present, const optim::ParameterUpdate& update) noexcept {
  try {
    if (update.rows.defined()) {
      buffers_.give(update.index, std::move(memory), present, update.rows);
    } else {
      buffers_.give(update.index, std::move(memory));
    }
  } catch (const std::bad_alloc&) {
    // The next step allocates new memory.
  }
}

bool ShardRules::is_current(const Ready& ready) const {
  for (const optim::ParameterUpdate& update : ready.updates) {
    if (!parameters_[update.index].value().storage().same_as(update.current.storage())) return false;
  }
  return true;
}

}  // namespace troupe::detail
