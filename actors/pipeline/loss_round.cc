#include "actors/pipeline/loss_round.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/contexts/gradient_reducer.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/pipeline/pieces.h"
#include "actors/pipeline/split_inputs.h"
#include "autograd/custom_op.h"
#include "autograd/engine.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::detail {
namespace {

/// Takes the gradients of a micro-batch's inputs from its context, before stages on this node take the others.
class InputGradients final : public GradientReducer {
 public:
  explicit InputGradients(std::vector<Variable> parts) : parts_(std::move(parts)), gradients_(parts_.size()) {}

  void begin(const PassId& /*pass*/) override {}
  void found(const PassId& /*pass*/, const Variable& /*leaf*/, const Tensor& /*gradient*/,
             const SparseTensor& /*rows*/) override {}
  void finish(const PassId& /*pass*/, Gradients gradients, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < parts_.size(); ++i) gradients_[i] = gradients.of(parts_[i]);
    }
    done(gradients.without(parts_));
  }
  void fail(const PassId& /*pass*/, const Error& /*why*/) override {}

  /// Returns the gradient of part `i`; undefined if there is none.
  [[nodiscard]] Tensor of(std::size_t i) const {
    const std::lock_guard lock(mutex_);
    return gradients_[i];
  }

 private:
  const std::vector<Variable> parts_;
  mutable std::mutex mutex_;
  std::vector<Tensor> gradients_;  // guarded by mutex_
};

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
        round_(std::move(core), count_, true) {}

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
      inputs_.push_back(std::make_shared<InputGradients>(parts));
      if (!parts.empty()) node_->contexts().attach(batches_[i]->context.id(), inputs_[i]);
    }
    const auto scope_of = [this](std::size_t i) -> const Scope& { return batches_[i]->context; };
    std::vector<AnyRRef> results = round_.start(scope_of, std::exchange(given_.inputs, {}));
    for (std::size_t i = 0; i < count_; ++i) {
      batches_[i]->loss = given_.loss(batches_[i]->context, std::exchange(results[i], {}), i);
      values_.push_back(outside_.rpc_async(batches_[i]->loss.owner(), &loss_value, batches_[i]->loss));
    }
  }

  /// Begins the pass of each micro-batch when the schedule allows. Returns the losses.
  std::vector<Tensor> begin_passes() {
    std::vector<Tensor> values;
    const bool at_once = core_.options().schedule == Schedule::one_f_one_b;
    for (std::size_t i = 0; i < count_; ++i) {
      values.push_back(values_[i].get());
      if (at_once) begin_pass(i);
    }
    for (std::size_t i = count_; !at_once && i > 0; --i) begin_pass(i - 1);
    return values;
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
    std::vector<Variable> ends;
    for (const auto& one : asked) ends.push_back(one.get());
    std::vector<Saved> found;
    for (std::size_t k = 0; k < given_.with_gradient.size(); ++k) {
      ends.push_back(given_.with_gradient[k].whole);
      found.emplace_back(input_gradient(k));
    }
    return custom_op(
        "pipeline", loss, ends,
        [stages = core_.size(), found = std::move(found)](const Tensor& gradient, std::span<const Edge> needed) {
          std::vector<Tensor> gradients(stages, gradient);
          for (std::size_t k = 0; k < found.size(); ++k) {
            gradients.push_back(needed[stages + k] ? times(found[k].get(), gradient.item()) : Tensor());
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
  std::vector<std::shared_ptr<MicroBatch>> batches_;
  std::vector<std::shared_ptr<InputGradients>> inputs_;
  std::vector<Future<Tensor>> values_;
  std::vector<Future<void>> passes_;
};

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

Tensor loss_value(Scope& scope, const RRef<Variable>& loss) {
  const Variable here = *loss.local_value(scope);
  if (here.numel() != 1 || here.dim() != 0) {
    throw ShapeError(
        fmt::format("[Pipeline] the loss of a micro-batch is not one number: {}", to_string(here.shape())));
  }
  if (!here.requires_grad()) throw TensorError("[Pipeline] the loss of a micro-batch requires no gradient");
  return here.value();
}

Variable weighted_loss(Scope& scope, const RRef<Variable>& loss, double weight) {
  const Variable here = *loss.local_value(scope);
  return seeded_root(here, full(here.shape(), weight, here.dtype()).to(here.device()));
}

}  // namespace troupe::detail
