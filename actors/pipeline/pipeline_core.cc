#include "actors/pipeline/pipeline_core.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "autograd/variable.h"

namespace troupe::detail {
namespace {

std::vector<StageShape> shapes_of(const std::vector<PipelineStage>& stages) {
  std::vector<StageShape> shapes;
  for (const PipelineStage& stage : stages) {
    shapes.push_back(stage.link().shape());
    shapes.back().stash = stage.skips().stash;
    shapes.back().pop = stage.skips().pop;
  }
  return shapes;
}

}  // namespace

PipelineCore::PipelineCore(const Scope& scope, std::vector<PipelineStage> stages, const PipelineOptions& options,
                           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs)
    : scope_(lasting_scope(scope)), stages_(std::move(stages)), options_(options) {
  if (options_.chunks < 1) throw std::invalid_argument(fmt::format("[Pipeline] chunks below 1: {}", options_.chunks));
  sources_ = connect(shapes_of(stages_), inputs, outputs);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (options_.recompute != Recompute::never && stages_[i].link().takes_scope()) {
      throw std::invalid_argument(fmt::format(
          "[Pipeline] the forward of stage {} takes a Scope: what it calls cannot be recomputed (a replica has "
          "synchronize instead)",
          i));
    }
    nodes_.push_back(stages_[i].link().shape().node);
  }
  const Scope concurrent = scope_.with({.sharing = Sharing::concurrent});
  for (const NodeName& node : nodes_) seats_.push_back(concurrent.remote(node, &make_stage_seat));
}

PipelineCore::Round::Round(std::shared_ptr<const PipelineCore> core, std::size_t micro_batches, bool counts_live)
    : core_(std::move(core)),
      count_(static_cast<std::uint32_t>(micro_batches)),
      counts_live_(counts_live),
      id_{core_->next_ticket_.fetch_add(micro_batches, std::memory_order_relaxed)} {}

RoundPlan PipelineCore::Round::plan(std::size_t stage) const {
  const std::size_t live = live_max(core_->options_.schedule, stage, core_->size(), count_);
  return {id_, count_, counts_live_ ? static_cast<std::uint32_t>(live) : 0};
}

StageTask PipelineCore::Round::task(const StageStep& step) const {
  const Recompute recompute = core_->options_.recompute;
  StageTask task;
  task.plan = plan(step.stage);
  task.index = static_cast<std::uint32_t>(step.micro_batch);
  task.stage = static_cast<std::uint32_t>(step.stage);
  task.records = grad_enabled();
  task.recomputes =
      recompute == Recompute::always || (recompute == Recompute::except_last && step.micro_batch + 1 < count_);
  task.defers_batch_norm = core_->options_.deferred_batch_norm;
  task.fetches_first = step.stage > 0 || !counts_live_;
  return task;
}

std::vector<AnyRRef> PipelineCore::Round::start(const std::function<const Scope&(std::size_t)>& scope_of,
                                                const std::vector<AnyRRef>& inputs) const {
  try {
    for (Failure& failure : core_->take_untold()) tell(core_, std::move(failure));
    return send(scope_of, inputs);
  } catch (...) {
    fail(error_of_round());
    throw;
  }
}

std::vector<AnyRRef> PipelineCore::Round::send(const std::function<const Scope&(std::size_t)>& scope_of,
                                               const std::vector<AnyRRef>& inputs) const {
  const std::size_t stages = core_->size();
  std::vector<std::vector<AnyRRef>> results(count_, std::vector<AnyRRef>(stages));  // all results of a stage
  std::vector<AnyRRef> given = inputs;  // by micro-batch: what the next stage takes
  for (const StageStep& step : forward_steps(count_, stages)) {
    const Scope& scope = scope_of(step.micro_batch);
    const StageLink& link = core_->stage(step.stage);
    AnyRRef& passed_on = given[step.micro_batch];
    StageTask task = this->task(step);
    task.inputs.push_back(passed_on);
    for (const SkipSource& source : core_->sources_[step.stage]) {
      const AnyRRef& all = results[step.micro_batch][source.stage];
      task.inputs.push_back(core_->stage(source.stage).result(scope, all, source.result));
    }
    passed_on = link.start(scope, core_->seats_[step.stage], task);
    const auto& skips = core_->stages_[step.stage].skips();
    if (skips.stash.empty()) continue;
    results[step.micro_batch][step.stage] = passed_on;
    passed_on = link.first_results(scope, passed_on, link.shape().results.size() - skips.stash.size());
  }
  return given;
}

void PipelineCore::Round::fail(const Error& why) const {
  for (std::size_t i = 0; i < core_->size(); ++i) tell(core_, {i, plan(i), why});
}

void PipelineCore::tell(const std::shared_ptr<const PipelineCore>& core, Failure failure) {
  const std::size_t i = failure.stage;
  // No limit: a stage that has not heard of it by then holds up the rounds that were started meanwhile.
  core->scope_.with({.deadline = Deadline::while_peer_lives(), .unreachable = Unreachable::wait})
      .rpc_async(core->nodes_[i], &fail_stage_round, core->seats_[i], failure.plan, failure.why)
      .then([failure = std::move(failure), told = std::weak_ptr(core)](const Result<Unit>& heard) {
        const auto here = told.lock();
        if (heard || !here || heard.error().code != ErrorCode::resource_exhausted) return;
        const std::lock_guard lock(here->mutex_);
        here->untold_.push_back(failure);
      });
}

std::vector<PipelineCore::Failure> PipelineCore::take_untold() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(untold_, {});
}

std::vector<RRef<Variable>> parameters_of_stages(const PipelineCore& core, const Scope& scope) {
  std::vector<RRef<Variable>> all;
  std::set<RRefId> modules;
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (!modules.insert(core.stage(i).module_id()).second) continue;
    for (auto& parameter : core.stage(i).parameters(scope)) all.push_back(std::move(parameter));
  }
  return all;
}

void set_mode_of_stages(const PipelineCore& core, const Scope& scope, nn::Mode mode) {
  for (std::size_t i = 0; i < core.size(); ++i) core.stage(i).set_mode(scope, mode);
}

Error error_of_round() {
  try {
    throw;
  } catch (const RemoteError& error) {
    return error.error();
  } catch (const std::exception& exception) {
    return make_error(ErrorCode::cancelled, fmt::format("the driver gave the round up: {}", exception.what()));
  } catch (...) {
    return make_error(ErrorCode::cancelled, "the driver gave the round up");
  }
}

}  // namespace troupe::detail
