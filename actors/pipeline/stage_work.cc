#include "actors/pipeline/stage_work.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/contexts/gradient_reducer.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "autograd/checkpoint.h"
#include "autograd/nn/norm.h"

namespace troupe::detail {
namespace {

/// Takes the gradients that a micro-batch's pass finds on this node from its context to the stage's rounds, and with
/// them the reducers that the forward attaches: those have one pass per round, that of the user's context. The first
/// one of a context takes all gradients, the first one that is open all reducers. Ends with the context.
class MicroBatchReducer final : public GradientReducer {
 public:
  MicroBatchReducer(std::shared_ptr<StageRounds> rounds, const MicroBatchId& batch)
      : rounds_(std::move(rounds)), batch_(batch) {}
  ~MicroBatchReducer() override { rounds_->settle(batch_); }
  MicroBatchReducer(const MicroBatchReducer&) = delete;
  MicroBatchReducer& operator=(const MicroBatchReducer&) = delete;

  /// No pass comes for this stage: what is found here is for other functions of this node. REQUIRES: no pass has begun.
  void close() { open_ = false; }

  void begin(const PassId& /*pass*/) override {}
  void found(const PassId& /*pass*/, const Variable& /*leaf*/, const Tensor& /*gradient*/,
             const SparseTensor& /*rows*/) override {}
  void finish(const PassId& /*pass*/, Gradients gradients, Done done) override {
    if (open_) rounds_->settle(batch_, {std::move(gradients), diverted_});
    else rounds_->keep(batch_, gradients);
    done(Gradients());
  }
  void fail(const PassId& /*pass*/, const Error& /*why*/) override {}
  [[nodiscard]] bool diverts(const std::shared_ptr<GradientReducer>& later) override {
    if (!open_ || dynamic_cast<const MicroBatchReducer*>(later.get()) != nullptr) return false;
    diverted_.push_back(later);
    return true;
  }
  [[nodiscard]] bool defers_leaf_hooks() const override { return true; }

 private:
  const std::shared_ptr<StageRounds> rounds_;
  const MicroBatchId batch_;
  std::atomic<bool> open_{true};
  std::vector<std::shared_ptr<GradientReducer>> diverted_;  // used in the turn of the context's actor
};

/// Returns the reducer of the micro-batch, attached to its context; null if its gradients are not the round's.
std::shared_ptr<MicroBatchReducer> attach_reducer(const Scope& scope, const std::shared_ptr<StageRounds>& rounds,
                                                  const StageTask& task) {
  if (task.plan.live_max == 0 || !scope.state().context) return nullptr;
  auto reducer = std::make_shared<MicroBatchReducer>(rounds, task.id());
  scope.state().node->contexts().attach(*scope.state().context, reducer);
  return reducer;
}

Error error_here(const Scope& scope, const StageTask& task) {
  return error_of_current_exception(scope.node_name(),
                                    fmt::format("stage {} of the pipeline, micro-batch {}", task.stage, task.index),
                                    future_home_of(scope).exceptions.get());
}

/// Throws what the module throws as an error that names the stage and the micro-batch.
void run(Scope& scope, const StageTask& task, StageWork& work) {
  try {
    work.run(scope);
  } catch (...) {
    throw RemoteError(error_here(scope, task));
  }
}

/// The micro-batch in its stage: fails its round unless it leaves.
class Entry {
 public:
  Entry(std::shared_ptr<NodeCore> node, std::shared_ptr<StageRounds> rounds, const StageTask& task)
      : node_(std::move(node)), rounds_(std::move(rounds)), plan_(task.plan), batch_(task.id()) {}
  ~Entry() {
    if (has_left_) return;
    Error given_up{.code = ErrorCode::cancelled};
    set_text(given_up.message, "a micro-batch was given up");
    try {
      fail(given_up);
    } catch (const std::bad_alloc&) {  // its round would wait for it for ever
      node_->fail(failure_of_current_exception("a stage"));
    }
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] Future<void> enter() const { return rounds_->enter(plan_, batch_.index); }
  void leave() noexcept {
    has_left_ = true;
    rounds_->leave(batch_);
  }
  void fail(const Error& why) {
    rounds_->fail(plan_, why);
    leave();
  }

 private:
  const std::shared_ptr<NodeCore> node_;
  const std::shared_ptr<StageRounds> rounds_;
  const RoundPlan plan_;
  const MicroBatchId batch_;
  bool has_left_ = false;
};

}  // namespace

Task<void> perform_stage(Scope& scope, RRef<StageSeat>& seat, const StageTask& task, StageWork& work) {
  const std::shared_ptr<StageRounds> rounds = std::exchange(seat, {}).local_value(scope)->rounds();
  Entry entry(scope.state().node, rounds, task);
  try {
    const Future<void> entered = entry.enter();
    std::vector<Future<void>> inputs;
    if (task.fetches_first) inputs = work.fetch(scope);
    for (const Future<void>& input : inputs) co_await input;
    co_await entered;
    if (!task.fetches_first) {
      for (const Future<void>& input : work.fetch(scope)) co_await input;
    }
    work.take();
    const auto reducer = attach_reducer(scope, rounds, task);  // before those of the forward
    run(scope, task, work);
    if (!reducer || !work.requires_grad()) {
      if (reducer) reducer->close();
      rounds->settle(task.id());
    }
    entry.leave();
  } catch (const RemoteError& error) {
    entry.fail(error.error());
    throw;
  } catch (...) {
    entry.fail(error_here(scope, task));
    throw;
  }
}

void join_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan, std::uint32_t index) {
  const std::shared_ptr<StageRounds> rounds = seat.local_value(scope)->rounds();
  StageTask task;
  task.plan = plan;
  task.index = index;
  const Future<void> entered = rounds->enter(plan, index);
  if (!entered.ready()) throw std::invalid_argument("[Pipeline] micro-batches join a round in their order");
  entered.get();
  static_cast<void>(attach_reducer(scope, rounds, task));
  rounds->leave(task.id());
}

namespace {

/// While it lives, the batch norms of a module collect the statistics of the round's micro-batches. After the last one
/// the running statistics take them in as those of one batch.
class DeferredStatistics {
 public:
  DeferredStatistics(nn::Module& module, const StageTask& task) {
    for (const auto& [path, part] : module.named_modules()) {
      auto* const norm = dynamic_cast<nn::BatchNorm*>(part);
      if (norm == nullptr) continue;
      norms_.push_back(norm);
      if (task.index == 0) norm->drop_collected();  // of a round that has failed
      collecting_.push_back(std::make_unique<nn::BatchNorm::Collecting>(*norm));
    }
  }
  void take_in() {
    for (nn::BatchNorm* const norm : norms_) norm->take_in_collected();
  }

 private:
  std::vector<nn::BatchNorm*> norms_;
  std::vector<std::unique_ptr<nn::BatchNorm::Collecting>> collecting_;
};

}  // namespace

std::vector<Variable> run_module(const StageTask& task, nn::Module& module, const std::vector<Variable>& inputs,
                                 const ForwardCall& call) {
  std::optional<NoGradGuard> without_gradients;
  if (!task.records) without_gradients.emplace();
  std::optional<DeferredStatistics> deferred;
  if (task.defers_batch_norm) deferred.emplace(module, task);
  const bool recomputes = task.recomputes && task.records && module.mode() == nn::Mode::train;
  std::vector<Variable> outputs = recomputes ? checkpoint(call, inputs) : call(inputs);
  if (deferred && task.index + 1 == task.plan.count) deferred->take_in();
  return outputs;
}

}  // namespace troupe::detail
