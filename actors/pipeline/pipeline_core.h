// The driver's end of a pipeline: its stages, and the rounds that go through them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/pipeline/connections.h"
#include "actors/pipeline/pipeline_options.h"
#include "actors/pipeline/schedule.h"
#include "actors/pipeline/stage_gate.h"
#include "actors/pipeline/stage_link.h"
#include "actors/pipeline/stage_seat.h"
#include "actors/pipeline/stage_task.h"
#include "actors/scope.h"

namespace troupe {

/// A stage of a Pipeline: a module on some node, of a class that is registered there as a stage_class. What is stashed
/// and popped goes from the one stage to the other, not through the stages between them.
class PipelineStage {
 public:
  /// `stash`: names of the last results of forward. `pop`: names of its last parameters.
  struct Skips {
    std::vector<std::string> stash = {};
    std::vector<std::string> pop = {};
  };

  template <class M>
  PipelineStage(RemoteModule<M> module) : PipelineStage(std::move(module), {}) {}
  template <class M>
  PipelineStage(RemoteModule<M> module, Skips skips)
      : link_(std::make_shared<const detail::LinkOf<M>>(std::move(module))), skips_(std::move(skips)) {}

  [[nodiscard]] const detail::StageLink& link() const { return *link_; }
  [[nodiscard]] const Skips& skips() const { return skips_; }

 private:
  std::shared_ptr<const detail::StageLink> link_;
  Skips skips_;
};

namespace detail {

/// Thread rule: any thread may call any member.
class PipelineCore {
 public:
  /// `inputs` and `outputs`: the wire structures of the pipeline's parameters and results. Throws
  /// std::invalid_argument.
  PipelineCore(const Scope& scope, std::vector<PipelineStage> stages, const PipelineOptions& options,
               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

  [[nodiscard]] const PipelineOptions& options() const { return options_; }
  [[nodiscard]] std::size_t size() const { return stages_.size(); }
  [[nodiscard]] const StageLink& stage(std::size_t i) const { return stages_[i].link(); }
  [[nodiscard]] const NodeName& node(std::size_t i) const { return nodes_[i]; }

  /// A round's way through the stages.
  class Round {
   public:
    /// Draws the tickets: from now on the stages must get the micro-batches, or be told of the failure.
    /// `counts_live`: backward passes of single micro-batches will follow.
    Round(std::shared_ptr<const PipelineCore> core, std::size_t micro_batches, bool counts_live);

    /// Sends all micro-batches on their way. `scope_of(i)`: of micro-batch i. Returns the references of their results.
    /// If it throws, the round has failed.
    [[nodiscard]] std::vector<AnyRRef> start(const std::function<const Scope&(std::size_t)>& scope_of,
                                             const std::vector<AnyRRef>& inputs) const;

    /// Tells all stages that the round has failed. Does not wait. A stage that is cut off hears of it if it is reached
    /// again; one that has no room for the message is told again when the next round starts.
    void fail(const Error& why) const;

    /// Returns what stage i knows of the round.
    [[nodiscard]] RoundPlan plan(std::size_t stage) const;

   private:
    [[nodiscard]] StageTask task(const StageStep& step) const;

    [[nodiscard]] std::vector<AnyRRef> send(const std::function<const Scope&(std::size_t)>& scope_of,
                                            const std::vector<AnyRRef>& inputs) const;

    std::shared_ptr<const PipelineCore> core_;
    const std::uint32_t count_;
    const bool counts_live_;
    const RoundId id_;
  };

  [[nodiscard]] const RRef<StageSeat>& seat(std::size_t stage) const { return seats_[stage]; }

 private:
  /// A failure that a stage must be told, or it would wait for the round's micro-batches for ever.
  struct Failure {
    std::size_t stage = 0;
    RoundPlan plan;
    Error why;
  };
  static void tell(const std::shared_ptr<const PipelineCore>& core, Failure failure);
  [[nodiscard]] std::vector<Failure> take_untold() const;

  const Scope scope_;  // lasts as long as the pipeline
  const std::vector<PipelineStage> stages_;
  const PipelineOptions options_;
  std::vector<NodeName> nodes_;
  std::vector<std::vector<SkipSource>> sources_;  // of each stage's popped parameters
  std::vector<RRef<StageSeat>> seats_;
  mutable std::atomic<std::uint64_t> next_ticket_{0};
  mutable std::mutex mutex_;
  mutable std::vector<Failure> untold_;  // guarded by mutex_
};

/// Returns the error for the exception being handled.
[[nodiscard]] Error error_of_round();

[[nodiscard]] std::vector<RRef<Variable>> parameters_of_stages(const PipelineCore& core, const Scope& scope);
void set_mode_of_stages(const PipelineCore& core, const Scope& scope, nn::Mode mode);

}  // namespace detail
}  // namespace troupe
