// One micro-batch in one stage, on the stage's node: waits for its inputs and its turn, and runs the module.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "actors/future.h"
#include "actors/pipeline/stage_seat.h"
#include "actors/pipeline/stage_task.h"
#include "actors/task.h"
#include "autograd/nn/module.h"
#include "autograd/variable.h"

namespace troupe::detail {

/// The part of a micro-batch that knows the module's class. Belongs to one task: one thread at a time.
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Requests the inputs. Each future is done when one has arrived.
  [[nodiscard]] virtual std::vector<Future<void>> fetch(const Scope& scope) = 0;

  /// Takes the inputs, which have arrived. Throws RemoteError, that of the first one that failed.
  virtual void take() = 0;

  /// Runs the module's forward on the inputs and keeps its result. Waits for the turn on the module.
  virtual void run(Scope& scope) = 0;

  /// Returns whether a variable of the result requires a gradient.
  [[nodiscard]] virtual bool requires_grad() const = 0;
};

/// Takes a micro-batch through a stage. Throws RemoteError: that of an input, of the round, or of the module's forward,
/// with the stage and the micro-batch in its operation. Drops `seat` before it waits: the end of the seat fails all
/// waiting tasks, so no waiting task may keep the seat alive.
Task<void> perform_stage(Scope& scope, RRef<StageSeat>& seat, const StageTask& task, StageWork& work);

// Every node serves this.

/// The stages of a micro-batch have used leaves of this node, which has no stage: their gradients in the pass of the
/// scope's context go to `seat`. REQUIRES: the pass has not begun; the micro-batches come in their order, or not at
/// all.
void join_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan, std::uint32_t index);

/// Calls the forward of a module with the given variables in place of those in its arguments, and returns the variables
/// in its result.
using ForwardCall = std::function<std::vector<Variable>(std::span<const Variable> given)>;

/// Runs `call` on `inputs` as `task` demands: with or without gradients, and so that the backward pass repeats it. The
/// returned variables replace those of the result. REQUIRES: the caller has the turn on `module`.
[[nodiscard]] std::vector<Variable> run_module(const StageTask& task, nn::Module& module,
                                               const std::vector<Variable>& inputs, const ForwardCall& call);

/// Returns a future that is done when `future` is. The value stays in `future`, so that a task can take several values
/// in any order.
template <class T>
[[nodiscard]] Future<void> arrival_of(const Future<T>& future) {
  const Promise<void> arrived(future.state().home());
  future.state().on_done([arrived](const Error* refused) {
    arrived.complete(refused != nullptr ? Result<Unit>(*refused) : Result<Unit>(Unit{}));
  });
  return arrived.future();
}

}  // namespace troupe::detail
