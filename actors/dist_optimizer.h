// Steps on parameters that live on several nodes, from gradients that are already there.
//
//   DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.05}, parameters);  // std::vector<RRef<Variable>>
//   backward(ctx, loss);
//   optimizer.step(ctx);
//
// Every owner of parameters keeps the rule's state beside them, in a shard; one small message per owner and step goes
// out, gradients never travel again. A step swaps in new values: forwards that began before it keep the old ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "actors/shards/step_outcome.h"
#include "autograd/variable.h"
#include "optim/rule_options.h"

namespace troupe {

/// How the owners of parameters take one step.
enum class StepMode : std::uint8_t {
  atomic,   ///< all or none: every owner prepares before any commits. For one driver.
  hogwild,  ///< each on its own, half the messages: other trainers' steps may fall between those of one step
};

/// A handle: copies are the same optimizer and share its state. When the last one goes and its steps are resolved, or its
/// node dies, the shards end; the parameters stay. An atomic step under way when its node dies is applied by all owners or
/// by none: they agree on it. Steps on one owner, of whatever optimizer, happen one after the other.
/// Thread rule: any thread may call any member.
class DistOptimizer {
 public:
  /// Steps that may have no outcome at the same time.
  static constexpr std::size_t kUnresolvedMax = 64;
  /// Steps that ended with StepUnknown and whose outcome can be asked for; of older ones it cannot.
  static constexpr std::size_t kUnknownMax = 256;

  /// Makes a shard on each owner of `parameters` and waits for them, as long as calls of `scope` may take. The RRefs are
  /// held as long as the optimizer lives. Throws std::invalid_argument if `parameters` is empty; RemoteError:
  /// bad_argument if one is not a leaf that requires a gradient, or is given twice, or if an option is out of range;
  /// what made a reference fail; peer_down, timeout.
  DistOptimizer(const Scope& scope, const optim::RuleOptions& options, std::vector<RRef<Variable>> parameters,
                StepMode mode = StepMode::atomic);

  /// Updates every parameter that has a gradient in the context of `scope`, and waits until all owners have done it, at
  /// most as long as calls of `scope` may take. Throws std::logic_error if `scope` has no context, RemoteError:
  /// context_aborted; step_not_applied if no parameter was changed anywhere, and none will be; resource_exhausted if
  /// kUnresolvedMax steps have no outcome; StepUnknown (step_unknown) if the step is taken and an owner has not said so in
  /// time, or is gone: the node goes on asking, and outcome() tells what it heard. In hogwild mode also if the step failed
  /// on some owners only. `cause` names the first owner and its error.
  void step(const Scope& scope) const;

  /// What became of a step that ended with StepUnknown: done when every owner has said it, or is gone. In atomic mode
  /// none is in `not_applied`. Error bad_argument if there was no such step of this optimizer among the last kUnknownMax.
  [[nodiscard]] Future<StepOutcome> outcome(const StepId& step) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
