// What a pipeline keeps on the node of one of its stages: which micro-batch may enter, and the gradients of
// micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/contexts/gradient_reducer.h"
#include "actors/future.h"
#include "actors/pipeline/stage_gate.h"
#include "actors/pipeline/stage_task.h"
#include "actors/scope.h"
#include "autograd/gradients.h"
#include "autograd/nn/module.h"

namespace troupe::detail {

/// What the backward passes of micro-batches leave on a stage's node.
struct StageGradients {
  Gradients gradients;
  /// They take part in the pass that gives the gradients of the round to the user's context.
  std::vector<std::shared_ptr<GradientReducer>> reducers = {};

  [[nodiscard]] bool empty() const { return gradients.empty() && reducers.empty(); }
  /// Adds `other`; a reducer that both have stays one.
  void add(const StageGradients& other);
};

/// The rounds of one stage. Thread rule: any thread may call any member; none blocks.
class StageRounds {
 public:
  /// So many failed rounds are remembered, for micro-batches that arrive late.
  static constexpr std::size_t kFailuresKept = 16;

  explicit StageRounds(FutureHome home) : home_(std::move(home)) {}

  /// Returns a future that is done when the micro-batch may run: then `leave` or `fail` must follow. It fails when its
  /// round fails or the pipeline ends.
  [[nodiscard]] Future<void> enter(const RoundPlan& plan, std::uint32_t index);

  /// The micro-batch has run.
  void leave(const MicroBatchId& batch) noexcept;

  /// The backward of the micro-batch is done on this node and found `gradients`, or nothing, or there will be none.
  /// Only the first time counts. Throws std::bad_alloc; then nothing has changed.
  void settle(const MicroBatchId& batch, StageGradients gradients);
  void settle(const MicroBatchId& batch) noexcept;

  /// Adds gradients of a micro-batch that is settled, unless its round has failed. REQUIRES: the round is not taken.
  void keep(const MicroBatchId& batch, const Gradients& gradients);

  /// The round has failed with `why`: its micro-batches that wait fail, and what it left here is dropped. Only the
  /// first time counts, and only the plan with which the round is known. Throws std::bad_alloc; then nothing has
  /// changed.
  void fail(const RoundPlan& plan, const Error& why);

  /// Returns the sum of what the round's micro-batches left, in reverse order, and forgets it.
  [[nodiscard]] StageGradients take(const RoundPlan& plan);

  /// The pipeline has ended: all that waits fails with `why`, now and later.
  void close(const Error& why) noexcept;

 private:
  using Waiting = std::map<MicroBatchId, Promise<void>>;

  /// Takes the promise of the micro-batch that may enter now, if any.
  [[nodiscard]] std::optional<Promise<void>> admit() noexcept;
  [[nodiscard]] Error refusal(RoundId round) const;
  static void let_in(const std::optional<Promise<void>>& admitted) noexcept;
  static void refuse(const Waiting& waiting, const Error& why) noexcept;

  const FutureHome home_;
  std::mutex mutex_;
  StageGate gate_;                                    // guarded by mutex_, as is all below
  Waiting waiting_;                                   // have arrived and not entered
  std::map<MicroBatchId, StageGradients> gradients_;  // of rounds that are not taken
  std::map<RoundId, Error> failed_;                   // the last rounds that failed, with their causes
  std::optional<Error> closed_;
};

/// The value behind the driver's reference, on the node of a stage; or of a round, on another node whose leaves the
/// stages use. When the driver drops it or dies, all that waits fails.
class StageSeat {
 public:
  explicit StageSeat(const Scope& scope);
  ~StageSeat();
  StageSeat(const StageSeat&) = delete;
  StageSeat& operator=(const StageSeat&) = delete;

  [[nodiscard]] const std::shared_ptr<StageRounds>& rounds() const { return rounds_; }

 private:
  const std::shared_ptr<StageRounds> rounds_;
};

// Every node serves these.

[[nodiscard]] StageSeat make_stage_seat(Scope& scope);
void fail_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan, const Error& why);
/// Returns `zero`, a number of the loss's type, as a variable whose gradient g gives each leaf g times what the round
/// found for it here. The round's reducers take part in the passes of the scope's context from now on.
[[nodiscard]] Variable settle_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan,
                                          const Tensor& zero);

/// Returns `zero` as a variable whose gradient g gives each leaf of `sums` g times its gradient. The reducers take part
/// in the passes of the scope's context from now on.
[[nodiscard]] Variable with_sums(const Scope& scope, const StageGradients& sums, const Tensor& zero);

/// Returns `gradient` times `scale`; itself if that is 1, undefined if it is undefined.
[[nodiscard]] Tensor times(const Tensor& gradient, double scale);

}  // namespace troupe::detail
