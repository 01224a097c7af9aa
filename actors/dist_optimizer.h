// Optimizer steps on parameters that live on several nodes, from gradients that a context already holds.
//
//   DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.05}, parameters);  // std::vector<RRef<Variable>>
//   backward(ctx, loss);
//   optimizer.step(ctx);
//
// Every owner of parameters keeps the rule's state beside them, in a shard. A step sends one small message per owner;
// gradients do not travel again. A step replaces values: forward passes that started before it keep the old ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "actors/shards/step_outcome.h"
#include "autograd/variable.h"
#include "optim/rule_options.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// How the owners of parameters take one step.
enum class StepMode : std::uint8_t {
  atomic,   ///< all owners or none: every owner prepares before any commits. For one driver.
  hogwild,  ///< each owner on its own, with half the messages: other trainers' steps may interleave
};

/// What one step does differently, the same for all owners.
struct DistStepOptions {
  std::optional<double> lr = {};  ///< the rate of this step, from a schedule (optim/lr_schedule.h); nullopt: the rule's
  double gradient_scale = 1.0;    ///< first, each element of a gradient is multiplied by this
  double gradient_limit = std::numeric_limits<double>::infinity();  ///< then clamped to [-limit, limit]
  /// Limits the norm of all scaled gradients taken as one vector, over all owners, as torch.nn.utils.clip_grad_norm_.
  /// Costs a call to each owner.
  std::optional<double> max_norm = {};
};

/// What state_dict returns.
enum class StateContent : std::uint8_t {
  rules,             ///< options and states of the update rules: the names of optim::LocalOptimizer::state()
  rules_and_values,  ///< also the values of the parameters at the same step: "groups.0.parameters.3.value"
};

/// A handle: copies are one optimizer and share its state. The shards end when the last copy is destroyed and its steps
/// are resolved, or when its node dies; the parameters stay. If the node dies during an atomic step, the owners agree:
/// all apply it or none does. Steps on one owner, of any optimizer, run one after the other.
/// Thread rule: any thread may call any member.
class DistOptimizer {
 public:
  /// The most steps that may be unresolved at the same time.
  static constexpr std::size_t kUnresolvedMax = 64;
  /// The most steps ended with StepUnknown that outcome() remembers; older ones are forgotten.
  static constexpr std::size_t kUnknownMax = 256;

  /// Makes a shard on each owner of `parameters` and waits for them, within the deadline of `scope`. The optimizer
  /// holds the RRefs as long as it lives. Throws std::invalid_argument if `parameters` is empty; RemoteError:
  /// bad_argument if a parameter is not a leaf that requires a gradient, or is given twice, or if an option is out of
  /// range; the error of a failed reference; peer_down; timeout.
  DistOptimizer(const Scope& scope, const optim::RuleOptions& options, std::vector<RRef<Variable>> parameters,
                StepMode mode = StepMode::atomic);

  /// Updates every parameter that has a gradient in the context of `scope`, and waits until all owners have done so,
  /// within the deadline of `scope`. Throws std::logic_error if `scope` has no context; RemoteError: context_aborted;
  /// step_not_applied if no parameter has changed or will change on any owner; resource_exhausted if kUnresolvedMax
  /// steps are unresolved; StepUnknown (step_unknown) if the step was decided but an owner did not confirm it in time
  /// or is gone: the node keeps asking, and outcome() returns the answer. Hogwild mode also throws StepUnknown if the
  /// step failed on some owners only. `cause` names the first owner and its error. An option that is out of range is
  /// bad_argument in `cause`; ValueError if max_norm is, or if the norm is not finite.
  void step(const Scope& scope, const DistStepOptions& options = {}) const;

  /// Returns the norm of the gradients that the parameters have in the context of `scope`, taken as one vector: sums
  /// per parameter, added in f64 in the order of the parameters. Throws std::logic_error, RemoteError of a call.
  [[nodiscard]] double gradient_norm(const Scope& scope) const;

  /// Returns the complete state of the rules for write_safetensors(), in memory of the CPU, under the names that
  /// optim::LocalOptimizer::state() uses: "groups.0.adam.lr", "groups.0.parameters.3.exp_avg", with the position of
  /// each parameter in its group, whoever owns it. It is the state of one moment between steps: no owner has a step
  /// open, and none of this node's steps is under way. Waits for such a moment, within the deadline of `scope`. In
  /// atomic mode every step of every trainer is in it on all owners or on none; a hogwild step of another node may be
  /// in it on some. Throws RemoteError: timeout if steps were under way at every attempt; step_not_applied if an owner
  /// has no shard any more; peer_down.
  [[nodiscard]] NamedTensors state_dict(const Scope& scope, StateContent content = StateContent::rules) const;

  /// Replaces the state of the rules, and the values of parameters for which `state` has them, on all owners or on none
  /// (as an atomic step, in every mode), and takes the rates of the groups from it. Later steps give the same bits as
  /// in the saved run, whichever nodes owned the parameters there, also if it was a LocalOptimizer. Throws, if nothing
  /// has changed and nothing will change: ValueError `[load_state] unexpected: groups.1.adam.lr`; RemoteError:
  /// step_not_applied, with every mismatch of the first owner that refused in `cause`. StepUnknown as step().
  void load_state_dict(const Scope& scope, const NamedTensors& state);

  /// Returns the outcome of a step that threw StepUnknown; done when every owner has answered or is gone. In atomic
  /// mode `not_applied` is empty. Error: bad_argument if the step is not one of this optimizer's last kUnknownMax
  /// unknown ones.
  [[nodiscard]] Future<StepOutcome> outcome(const StepId& step) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

/// Every node serves this: the norm of the gradient of each of its leaves in the scope's context; 0 without one.
[[nodiscard]] std::vector<double> gradient_norms(Scope& scope, const std::vector<RRef<Variable>>& leaves);

}  // namespace detail

}  // namespace troupe
