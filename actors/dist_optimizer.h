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
#include <memory>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "actors/shards/shared_optimizer.h"
#include "actors/shards/step_options.h"
#include "actors/shards/step_outcome.h"
#include "autograd/variable.h"
#include "optim/rate_groups.h"
#include "optim/rule_options.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

class DistOptimizer;

namespace detail {
class OptimizerDriver;
/// Returns the part that all copies of a handle share.
[[nodiscard]] std::shared_ptr<OptimizerDriver> driver_of(const DistOptimizer& optimizer);
}  // namespace detail

/// A handle: copies are one optimizer and share its state. The shards end when the last copy is destroyed and its steps
/// are resolved, or when its node dies; the parameters stay. If the node dies during an atomic step, the owners agree:
/// all apply it or none does. Steps on one owner, of any optimizer, run one after the other. A schedule of optim/ sets
/// the rates: `optim::LrScheduler scheduler(optimizer, optim::StepLr({.step_size = 30}));`. They travel in each step.
/// Thread rule: any thread may call any member.
class DistOptimizer final : public optim::RateGroups {
 public:
  /// Makes a shard on each owner of `parameters` and waits for them, within the deadline of `scope`. The optimizer
  /// holds the RRefs as long as it lives. Throws std::invalid_argument if `parameters` is empty; RemoteError:
  /// bad_argument if a parameter is not a leaf that requires a gradient, or is given twice, or if an option is out of
  /// range; the error of a failed reference; peer_down; timeout.
  DistOptimizer(const Scope& scope, const optim::RuleOptions& options, std::vector<RRef<Variable>> parameters,
                const Stepping& stepping = StepMode::atomic);

  /// The same with a rule for each group: {{.parameters = body, .options = optim::SgdOptions{.lr = 0.1}}, {.parameters
  /// = head, .options = optim::AdamOptions{}}}. Throws std::invalid_argument also if a group has no parameters.
  DistOptimizer(const Scope& scope, std::vector<DistParameterGroup> groups,
                const Stepping& stepping = StepMode::atomic);

  /// One more handle of a shared optimizer, on the node of `scope`: another trainer. It steps the same parameters with
  /// the same state, in the same mode, and has rates of its own, at first those of the handle that was shared. Waits
  /// until every owner has counted it, within the deadline of `scope`. Throws std::invalid_argument if `shared` is
  /// null; RemoteError: ref_revoked if all other handles were released or their nodes are gone; peer_down; timeout.
  DistOptimizer(const Scope& scope, const SharedOptimizer& shared);

  /// Returns the object with which other nodes step the same parameters with the same state. The shards then live until
  /// the last handle of the last node is gone. Throws RemoteError: shutting_down.
  [[nodiscard]] SharedOptimizer share() const;

  // No moves: a handle that was moved from is a copy.
  DistOptimizer(const DistOptimizer&) = default;
  DistOptimizer& operator=(const DistOptimizer&) = default;
  ~DistOptimizer() = default;

  /// Updates every parameter that has a gradient in the context of `scope`, and waits until all owners have done so,
  /// within the deadline of `scope`. Throws std::logic_error if `scope` has no context; RemoteError: context_aborted,
  /// also if `scope` is a copy of that of a DistContext that is gone; step_not_applied if no parameter has changed or
  /// will change on any owner; resource_exhausted if kUnresolvedStepsMax steps are unresolved; StepUnknown
  /// (step_unknown) if the step was decided but an owner did not confirm it in time or is gone: the node keeps asking,
  /// and outcome() returns the answer. Hogwild mode also throws StepUnknown if the step failed on some owners only.
  /// `cause` names the first owner and its error. An option that is out of range is bad_argument in `cause`; ValueError
  /// if max_norm is, if the norm is not finite, or if `lr` has another number of rates than groups.
  void step(const Scope& scope, const DistStepOptions& options = {}) const;

  /// Call it before the backward pass: every owner then computes the update of a parameter as soon as its gradient is
  /// final in the pass, while the rest of the pass runs, and `step` with the same options uses these updates. The
  /// result is the same bit for bit. Updates computed early are dropped if the pass fails, another pass of the context
  /// begins, or another step or a load comes first; then `step` computes them itself. Call it once per context. Waits
  /// for the owners, within the deadline of `scope`. Throws std::logic_error if `scope` has no context;
  /// std::invalid_argument if options.max_norm is set: the norm needs all gradients; RemoteError of a call;
  /// step_not_applied if an owner has no shard any more.
  void overlap(const Scope& scope, const DistStepOptions& options = {}) const;

  /// Returns the norm of the gradients that the parameters have in the context of `scope`, taken as one vector: sums
  /// per parameter, added in f64 in the order of the parameters. Throws std::logic_error, RemoteError of a call.
  [[nodiscard]] double gradient_norm(const Scope& scope) const;

  [[nodiscard]] std::size_t group_count() const noexcept override;

  /// The rates, and the momentums that schedules set, belong to this handle and its copies.
  [[nodiscard]] double lr(std::size_t group) const override;
  void set_lr(std::size_t group, double lr) override;
  [[nodiscard]] double momentum(std::size_t group) const override;
  void set_momentum(std::size_t group, double momentum) override;

  /// Returns the complete state of the rules for write_safetensors(), in memory of the CPU, under the names that
  /// optim::LocalOptimizer::state_dict() uses: "groups.0.adam.lr", "groups.0.parameters.3.exp_avg", with the position
  /// of each parameter in its group, whoever owns it. It is the state of one moment between steps: no owner has a step
  /// open, and none of this node's steps is under way. Waits for such a moment, within the deadline of `scope`. In
  /// atomic mode every step of every trainer is in it on all owners or on none; a hogwild step of another node may be
  /// in it on some. Throws RemoteError: timeout if steps were under way at every attempt; step_not_applied if an owner
  /// has no shard any more; peer_down.
  [[nodiscard]] NamedTensors state_dict(const Scope& scope, StateContent content = StateContent::rules) const;

  /// Replaces the state of the rules, and the values of parameters for which `state` has them, on all owners or on none
  /// (as an atomic step, in every mode), and takes the rates of the groups from it. Later steps give the same bits as
  /// in the saved run, whichever nodes owned the parameters there, also if it was a LocalOptimizer. Throws, if nothing
  /// has changed and nothing will change: ValueError `[load_state_dict] unexpected: groups.1.adam.lr`; RemoteError:
  /// step_not_applied, with every mismatch of the first owner that refused in `cause`. StepUnknown as step().
  void load_state_dict(const Scope& scope, const NamedTensors& state);

  /// Returns the outcome of a step that threw StepUnknown; done when every owner has answered or is gone. In atomic
  /// mode `not_applied` is empty. Error: bad_argument if the step is not one of this optimizer's last kUnknownStepsMax
  /// unknown ones.
  [[nodiscard]] Future<StepOutcome> outcome(const StepId& step) const;

 private:
  friend std::shared_ptr<detail::OptimizerDriver> detail::driver_of(const DistOptimizer& optimizer);

  std::shared_ptr<detail::OptimizerDriver> driver_;
};

namespace detail {

/// Every node serves this: the sum of the squares of each of its leaves' gradients in the scope's context; 0 without
/// one.
[[nodiscard]] std::vector<double> gradient_squares(Scope& scope, const std::vector<RRef<Variable>>& leaves);

}  // namespace detail

}  // namespace troupe
