#include "actors/shard_part.h"

#include <fmt/format.h>

#include <stdexcept>
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

}  // namespace

ShardPart::ShardPart(std::unique_ptr<optim::Optimizer> rule, std::vector<Variable> parameters)
    : rule_(std::move(rule)), parameters_(std::move(parameters)), buffers_(parameters_.size()) {
  std::unordered_set<const void*> seen;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& parameter = parameters_[i];
    if (!parameter.defined() || !parameter.is_leaf() || !parameter.requires_grad()) {
      throw TensorError(fmt::format("[optimizer] parameter {} is not a leaf that requires a gradient", i));
    }
    if (!seen.insert(parameter.id()).second) throw TensorError(fmt::format("[optimizer] parameter {} is given twice", i));
  }
}

Result<msg::ShardPrepared> ShardPart::prepare(const StepId& step, const Gradients& gradients) {
  if (const auto done = done_.find(step); done != done_.end()) {
    if (done->second.state == msg::StepState::applied) return msg::ShardPrepared{step, 0};
    return step_error(ErrorCode::step_not_applied, fmt::format("step {} was aborted", step.text()));
  }
  if (const auto open = open_.find(step); open != open_.end()) return msg::ShardPrepared{step, open->second.updated};
  try {
    drop_ready();
    compute(step, gradients);
  } catch (const TensorError& error) {
    return step_error(ErrorCode::bad_argument, error.what());
  } catch (const std::bad_alloc&) {
    return step_error(ErrorCode::resource_exhausted, "no memory for the second buffers of the parameters");
  }
  const std::uint64_t updated = ready_->updates.size();
  open_.emplace(step, Open{gradients, updated});
  return msg::ShardPrepared{step, updated};
}

Result<msg::ShardStepped> ShardPart::commit(const StepId& step) {
  if (const auto done = done_.find(step); done != done_.end()) {
    if (done->second.state == msg::StepState::applied) return msg::ShardStepped{step, done->second.version};
    return step_error(ErrorCode::step_not_applied, fmt::format("step {} was aborted", step.text()));
  }
  auto open = open_.extract(step);
  if (open.empty()) return step_error(ErrorCode::step_not_applied, fmt::format("step {} was not prepared", step.text()));
  return apply(step, open.mapped().gradients);
}

Result<msg::ShardStepped> ShardPart::step(const StepId& step, const Gradients& gradients) {
  if (done_.contains(step) || open_.contains(step)) return commit(step);
  return apply(step, gradients);
}

void ShardPart::abort(const StepId& step) {
  if (done_.contains(step)) return;
  open_.erase(step);
  if (ready_ && ready_->step == step) drop_ready();
  finish(step, msg::StepState::aborted);
}

msg::ShardOutcome ShardPart::outcome(const StepId& step) const {
  if (const auto done = done_.find(step); done != done_.end()) return {step, done->second.state, version_};
  return {step, open_.contains(step) ? msg::StepState::prepared : msg::StepState::unknown, version_};
}

Result<msg::ShardStepped> ShardPart::apply(const StepId& step, const Gradients& gradients) {
  try {
    if (!ready_ || ready_->step != step || !is_current(*ready_)) {
      drop_ready();
      compute(step, gradients);
    }
  } catch (const TensorError& error) {
    return step_error(ErrorCode::bad_argument, error.what());
  } catch (const std::bad_alloc&) {
    return step_error(ErrorCode::resource_exhausted, "no memory for the second buffers of the parameters");
  }
  for (optim::ParameterUpdate& update : ready_->updates) {
    parameters_[update.index].set_value(update.next);
    keep(std::move(update.current), update.next, update);
  }
  rule_->commit();
  ready_.reset();
  ++version_;
  finish(step, msg::StepState::applied);
  return msg::ShardStepped{step, version_};
}

void ShardPart::compute(const StepId& step, const Gradients& gradients) {
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
  rule_->prepare(ready.updates);
  ready_ = std::move(ready);
}

void ShardPart::drop_ready() {
  if (!ready_) return;
  for (optim::ParameterUpdate& update : ready_->updates) keep(std::move(update.next), update.current, update);
  ready_.reset();
  rule_->rollback();
}

void ShardPart::keep(Tensor memory, const Tensor& present, const optim::ParameterUpdate& update) {
  if (update.rows.defined()) {
    buffers_.give(update.index, std::move(memory), present, update.rows);
  } else {
    buffers_.give(update.index, std::move(memory));
  }
}

bool ShardPart::is_current(const Ready& ready) const {
  for (const optim::ParameterUpdate& update : ready.updates) {
    if (!parameters_[update.index].value().storage().same_as(update.current.storage())) return false;
  }
  return true;
}

void ShardPart::finish(const StepId& step, msg::StepState state) {
  done_.emplace(step, Done{state, version_});
  done_order_.push_back(step);
  if (done_order_.size() <= kStepsMax) return;
  done_.erase(done_order_.front());
  done_order_.pop_front();
}

}  // namespace troupe::detail
