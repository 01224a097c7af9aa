#include "actors/pipeline/loss_round.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/contexts/gradient_reducer.h"
#include "actors/contexts/known_route.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/pipeline/pieces.h"
#include "actors/pipeline/split_inputs.h"
#include "actors/pipeline/stage_seat.h"
#include "actors/pipeline/stage_work.h"
#include "autograd/custom_op.h"
#include "autograd/engine.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::detail {
namespace {

/// Takes the gradients of a micro-batch's inputs from its context, before stages on this node take the others. If there
/// are no stages here, it `takes_rest`.
class DriverGradients final : public GradientReducer {
 public:
  DriverGradients(std::vector<Variable> parts, bool takes_rest)
      : parts_(std::move(parts)), takes_rest_(takes_rest), gradients_(parts_.size()) {}

  void begin(const PassId& /*pass*/) override {}
  void found(const PassId& /*pass*/, const Variable& /*leaf*/, const Tensor& /*gradient*/,
             const SparseTensor& /*rows*/) override {}
  void finish(const PassId& /*pass*/, Gradients gradients, Done done) override {
    Gradients rest = gradients.without(parts_);
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < parts_.size(); ++i) gradients_[i] = gradients.of(parts_[i]);
      if (takes_rest_) rest_ = std::exchange(rest, {});
    }
    done(std::move(rest));
  }
  void fail(const PassId& /*pass*/, const Error& /*why*/) override {}
  [[nodiscard]] bool defers_leaf_hooks() const override { return takes_rest_; }

  /// Returns the gradient of part `i`; undefined if there is none.
  [[nodiscard]] Tensor of(std::size_t i) const {
    const std::lock_guard lock(mutex_);
    return gradients_[i];
  }
  /// Returns the gradients of other leaves.
  [[nodiscard]] Gradients rest() const {
    const std::lock_guard lock(mutex_);
    return rest_;
  }

 private:
  const std::vector<Variable> parts_;
  const bool takes_rest_;
  mutable std::mutex mutex_;
  std::vector<Tensor> gradients_;  // guarded by mutex_, as is all below
  Gradients rest_;
};

/// The seats of one round on nodes without a stage whose leaves the stages use, through functions that these serve.
class ServerSeats {
 public:
  /// `count`: of the round's micro-batches.
  ServerSeats(const Scope& outside, std::size_t count)
      : scope_(outside.with({.sharing = Sharing::concurrent})),
        plan_{{}, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count)} {}

  /// The seats will get what the pass of the context of `scope` finds on `nodes`. Waits. REQUIRES: called for one
  /// micro-batch after the other, in their order, before their passes.
  void join(const Scope& scope, const std::set<NodeName>& nodes) {
    std::vector<Future<void>> joined;
    for (const NodeName& node : nodes) {
      Seat& seat = seats_[node];
      if (!seat.value.defined()) seat.value = scope_.remote(node, &make_stage_seat);
      joined.push_back(scope.rpc_async(node, &join_stage_round, seat.value, plan_, seat.joined++));
    }
    for (const Future<void>& one : joined) one.get();
  }

  /// Asks each node as settle_stage_round does.
  void settle(const Scope& scope, const Tensor& zero, std::vector<Future<Variable>>& asked) const {
    for (const auto& [node, seat] : seats_) {
      asked.push_back(scope.rpc_async(node, &settle_stage_round, seat.value, plan_, zero));
    }
  }

 private:
  struct Seat {
    RRef<StageSeat> value;
    std::uint32_t joined = 0;
  };

  const Scope scope_;
  const RoundPlan plan_;
  std::map<NodeName, Seat> seats_;
};

/// Returns the nodes that the context of `scope` has reached from `first` on. Waits.
std::set<NodeName> nodes_reached(const Scope& scope, const NodeName& first) {
  std::set<NodeName> reached;
  std::vector<NodeName> next{first};
  while (!next.empty()) {
    std::vector<Future<UnusedHere>> asked;
    for (const NodeName& node : std::exchange(next, {})) {
      if (reached.insert(node).second) asked.push_back(scope.rpc_async(node, &unused_here, PassId()));
    }
    for (const auto& answer : asked) {
      const std::vector<NodeName> peers = answer.get().peers;
      next.insert(next.end(), peers.begin(), peers.end());
    }
  }
  return reached;
}

/// What the driver holds of a micro-batch until its pass is done.
struct MicroBatch {
  explicit MicroBatch(const Scope& outside) : context(outside) {}

  DistContext context;
  RRef<Variable> loss;
  RRef<Variable> start;  // of the pass
};

class LossRun {
 public:
  LossRun(std::shared_ptr<const PipelineCore> core, const Scope& scope, LossRound round)
      : core_(*core),
        scope_(scope),
        outside_(without_context(scope)),
        node_(scope.state().node),
        given_(std::move(round)),
        count_(given_.sizes.size()),
        round_(std::move(core), count_, true),
        servers_(outside_, count_) {
    for (std::size_t i = 0; i < core_.size(); ++i) stage_nodes_.insert(core_.node(i));
  }

  Variable run() {
    try {
      start();
      const std::vector<Tensor> values = begin_passes();
      for (const Future<void>& pass : passes_) pass.get();
      return settled(total(values));
    } catch (...) {
      round_.fail(error_of_round());
      for (const auto& batch : batches_) node_->contexts().release(batch->context.id());
      throw;
    }
  }

 private:
  void start() {
    // The death of a stage's node aborts the user's context from now on.
    for (std::size_t i = 0; i < core_.size(); ++i) node_->contexts().called(*scope_.state().context, core_.node(i));
    for (std::size_t i = 0; i < count_; ++i) {
      batches_.push_back(std::make_shared<MicroBatch>(outside_));
      std::vector<Variable> parts;
      for (const InputWithGradient& input : given_.with_gradient) parts.push_back(input.parts[i]);
      inputs_.push_back(std::make_shared<DriverGradients>(parts, !stage_nodes_.contains(scope_.node_name())));
      if (!parts.empty()) node_->contexts().attach(batches_[i]->context.id(), inputs_[i]);
    }
    const auto scope_of = [this](std::size_t i) -> const Scope& { return batches_[i]->context; };
    std::vector<AnyRRef> results = round_.start(scope_of, std::exchange(given_.inputs, {}));
    for (std::size_t i = 0; i < count_; ++i) {
      batches_[i]->loss = given_.loss(batches_[i]->context, std::exchange(results[i], {}), i);
      MicroBatch& batch = *batches_[i];
      losses_.push_back(batch.context.rpc_async(batch.loss.owner(), &loss_value, batch.loss));
    }
  }

  /// Begins the pass of each micro-batch when the schedule allows. Returns the losses.
  std::vector<Tensor> begin_passes() {
    std::vector<Tensor> values;
    const bool at_once = core_.options().schedule == Schedule::one_f_one_b;
    for (std::size_t i = 0; i < count_; ++i) {
      const MicroBatchLoss loss = losses_[i].get();
      values.push_back(loss.value);
      prepare(i, loss);
      if (at_once) begin_pass(i);
    }
    for (std::size_t i = count_; !at_once && i > 0; --i) begin_pass(i - 1);
    return values;
  }

  /// No gradient of the micro-batch's pass will stay in its context, wherever the pass finds it.
  void prepare(std::size_t i, const MicroBatchLoss& loss) {
    const MicroBatch& batch = *batches_[i];
    std::set<NodeName> others = loss.nodes ? std::set(loss.nodes->begin(), loss.nodes->end())
                                           : nodes_reached(batch.context, batch.loss.owner());
    std::erase_if(others, [this](const NodeName& node) { return stage_nodes_.contains(node); });
    const bool is_here = others.erase(scope_.node_name()) > 0;
    if (is_here && given_.with_gradient.empty()) node_->contexts().attach(batch.context.id(), inputs_[i]);
    servers_.join(batch.context, others);
  }

  /// REQUIRES: the loss exists. Then all stages take part in the passes of its context. The context ends with the pass:
  /// what the stages have saved for it is released.
  void begin_pass(std::size_t i) {
    MicroBatch& batch = *batches_[i];
    const NodeName& owner = batch.loss.owner();
    PassPlan plan;
    if (owner == scope_.node_name()) {
      plan.roots.local.push_back(weighted_loss(batch.context, batch.loss, weight(i)));
    } else {
      batch.start = batch.context.remote(owner, &weighted_loss, batch.loss, weight(i));
      plan.roots.remote[owner].push_back(batch.start.id());
    }
    const ScopeState& state = batch.context.state();
    const Promise<void> done(node_->future_home());
    PassLimits limits{due_of(state), cancelling(state, done.future().state())};
    node_->contexts().backward(batch.context.id(), std::move(plan), std::move(limits), done);
    passes_.push_back(done.future());
    passes_.back().state().on_done([node = node_, batch = batches_[i]](const Error* /*refused*/) {
      node->contexts().release(batch->context.id());
      batch->loss = {};
      batch->start = {};
    });
  }

  [[nodiscard]] double weight(std::size_t i) const {
    if (core_.options().loss_of == LossOf::sum) return 1.0;
    const std::int64_t rows = std::accumulate(given_.sizes.begin(), given_.sizes.end(), std::int64_t{0});
    return static_cast<double>(given_.sizes[i]) / static_cast<double>(rows);
  }

  [[nodiscard]] Tensor total(const std::vector<Tensor>& values) const {
    Tensor sum;
    for (std::size_t i = count_; i > 0; --i) {
      const Tensor part = values[i - 1] * weight(i - 1);
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  }

  /// Returns the round's loss as a variable of the user's context, which is connected with the sums on all nodes.
  [[nodiscard]] Variable settled(const Tensor& loss) const {
    const Tensor zero = zeros_like(loss);
    std::vector<Future<Variable>> asked;
    for (std::size_t i = 0; i < core_.size(); ++i) {
      asked.push_back(scope_.rpc_async(core_.node(i), &settle_stage_round, core_.seat(i), round_.plan(i), zero));
    }
    servers_.settle(scope_, zero, asked);
    std::vector<Variable> ends;
    for (const auto& one : asked) ends.push_back(one.get());
    StageGradients own;
    for (std::size_t i = count_; i > 0; --i) own.gradients.add(inputs_[i - 1]->rest());
    ends.push_back(with_sums(scope_, own, zero));
    const std::size_t sums = ends.size();
    std::vector<Saved> found;
    for (std::size_t k = 0; k < given_.with_gradient.size(); ++k) {
      ends.push_back(given_.with_gradient[k].whole);
      found.emplace_back(input_gradient(k));
    }
    return custom_op("pipeline", loss, ends,
                     [sums, found = std::move(found)](const Tensor& gradient, std::span<const Edge> needed) {
                       std::vector<Tensor> gradients(sums, gradient);
                       for (std::size_t k = 0; k < found.size(); ++k) {
                         gradients.push_back(needed[sums + k] ? times(found[k].get(), gradient.item()) : Tensor());
                       }
                       return gradients;
                     });
  }

  /// Returns the gradient of an input over all micro-batches; undefined if there is none.
  [[nodiscard]] Tensor input_gradient(std::size_t k) const {
    const InputWithGradient& input = given_.with_gradient[k];
    std::vector<Tensor> parts(count_);
    bool any = false;
    for (std::size_t i = 0; i < count_; ++i) {
      parts[i] = inputs_[i]->of(k);
      any = any || parts[i].defined();
    }
    if (!any) return {};
    if (input.is_split) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (!parts[i].defined()) parts[i] = zeros_like(input.parts[i].value());
      }
      return concat(parts, 0);
    }
    Tensor sum;
    for (std::size_t i = count_; i > 0; --i) {
      if (parts[i - 1].defined()) sum = sum.defined() ? sum + parts[i - 1] : parts[i - 1];
    }
    return sum;
  }

  const PipelineCore& core_;  // owned by round_
  const Scope scope_;         // of the user's context
  const Scope outside_;       // without it
  const std::shared_ptr<NodeCore> node_;
  LossRound given_;
  const std::size_t count_;
  const PipelineCore::Round round_;
  ServerSeats servers_;
  std::set<NodeName> stage_nodes_;
  std::vector<std::shared_ptr<MicroBatch>> batches_;
  std::vector<std::shared_ptr<DriverGradients>> inputs_;
  std::vector<Future<MicroBatchLoss>> losses_;
  std::vector<Future<void>> passes_;
};

/// Returns the nodes of a pass of the scope's context from `root` on; nullopt if this node does not know them.
std::optional<std::vector<NodeName>> nodes_of_pass(const Scope& scope, const Variable& root) {
  if (!scope.state().context) return std::nullopt;
  KnownRoute route(*scope.state().context, scope.node_name(), msg::kRouteMax);
  if (const Edge edge = root.gradient_edge()) route.add(*edge.fn);
  const auto legs = route.take();
  if (!legs) return std::nullopt;
  std::set<NodeName> nodes{scope.node_name()};
  for (const msg::RouteLeg& leg : *legs) nodes.insert({leg.sender, leg.receiver});
  return std::vector<NodeName>(nodes.begin(), nodes.end());
}

}  // namespace

InputWithGradient cut_input(const Variable& whole, bool is_split, const std::vector<std::int64_t>& sizes) {
  InputWithGradient input{whole, {}, is_split};
  const std::vector<Tensor> values =
      is_split ? parts_of(whole.value(), sizes) : std::vector<Tensor>(sizes.size(), whole.value());
  for (const Tensor& value : values) input.parts.emplace_back(value, RequiresGrad::yes);
  return input;
}

void require_no_gradient(const Variable& input, std::size_t index) {
  if (!input.requires_grad()) return;
  throw std::logic_error(fmt::format(
      "[Pipeline] input {} requires a gradient, and the scope has no autograd context: call through a DistContext",
      index));
}

Variable run_loss_round(std::shared_ptr<const PipelineCore> core, const Scope& scope, LossRound round) {
  if (!scope.state().context) {
    throw std::logic_error("[Pipeline] the scope has no autograd context: call through a DistContext");
  }
  if (!grad_enabled()) throw std::logic_error("[Pipeline] gradients are disabled: use forward");
  return LossRun(std::move(core), scope, std::move(round)).run();
}

MicroBatchLoss loss_value(Scope& scope, const RRef<Variable>& loss) {
  const Variable here = *loss.local_value(scope);
  if (here.numel() != 1 || here.dim() != 0) {
    throw ShapeError(
        fmt::format("[Pipeline] the loss of a micro-batch is not one number: {}", to_string(here.shape())));
  }
  if (!here.requires_grad()) throw TensorError("[Pipeline] the loss of a micro-batch requires no gradient");
  return {here.value(), nodes_of_pass(scope, here)};
}

Variable weighted_loss(Scope& scope, const RRef<Variable>& loss, double weight) {
  const Variable here = *loss.local_value(scope);
  return seeded_root(here, full(here.shape(), weight, here.dtype()).to(here.device()));
}

}  // namespace troupe::detail
