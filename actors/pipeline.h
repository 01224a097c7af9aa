// Pipeline-parallel training: a network in stages, each a module on some node. A batch is split into micro-batches, so
// that all stages compute at the same time.
//
//   constexpr auto first = stage_class<FirstHalf, std::uint64_t>;         // {"FirstHalf", first} in every registry
//   constexpr auto second = stage_class<SecondHalf, std::uint64_t>;
//   const std::vector<PipelineStage> stages{RemoteModule(node, "w0", first, 1U),  // the seed: an int would narrow
//                                           RemoteModule(node, "w1", second, 2U)};
//   const Pipeline net(node, stages, {.chunks = 8});
//   DistContext ctx(node);
//   backward(ctx, mse_loss(net.forward(ctx, images), labels));           // fills the pipeline, then drains it
//   backward(ctx, net.loss(ctx, images, &mse, labels));                  // or: one forward, one backward
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/pipeline/balance.h"
#include "actors/pipeline/chunk_plan.h"
#include "actors/pipeline/loss_round.h"
#include "actors/pipeline/pieces.h"
#include "actors/pipeline/pipeline_core.h"
#include "actors/pipeline/pipeline_options.h"
#include "actors/pipeline/split_inputs.h"
#include "actors/pipeline/stage_class.h"
#include "actors/rref.h"

namespace troupe {

template <class Signature = Variable(Variable)>
class Pipeline;

/// A sequence of stages that maps P... to R, through which batches go in micro-batches. A stage's result goes to the
/// node of the next stage, not through this node. `Pipeline` alone maps a Variable to a Variable.
///
/// Tensors and Variables among the inputs, and optional ones, are split along dimension 0, into `chunks` parts of equal
/// size but for the last one, which may be smaller. All must have the same number of rows, or be given as NoChunk.
/// A value of any other type goes whole to every micro-batch. Tensors in the result are joined again; other values must
/// be equal for all micro-batches, NaN to NaN. An undefined Variable stays undefined.
///
/// Micro-batches enter each stage in their order, one at a time, whatever the delays: running statistics and random
/// numbers are those of one process. Gradients are, bit for bit, those of the same program with all stages on one node,
/// as served functions, or with one math thread (MathThreads): products and convolutions add in an order that
/// depends on the number of threads. They land in the context of the scope, so that a DistOptimizer needs nothing else.
/// A layer that looks at a whole batch, such as a batch norm, sees one micro-batch: see deferred_batch_norm.
///
/// If a stage throws or its node dies, the call throws one error, which names the node, and the stage and micro-batch
/// if it threw; nothing of the batch is left anywhere, and the next one may follow. Each call of a batch has the
/// deadline of the scope.
///
/// A stage may be a replica: its `void synchronize(const Scope&)` calls that of its DataParallel, and the pipeline
/// calls it before each forward in train mode. A forward that takes a Scope and calls that of its DataParallel works
/// too, but cannot be recomputed. Then each backward pass of the scope's context is a round of its group, for the sum
/// over all micro-batches, after `forward` and after `loss`. A call of `loss` that throws is no round: the other
/// members wait for the next one, as long as their operations may take. If a member dies, the passes of all pipelines
/// with a replica in its group fail with its name. The stages of a driver that dies leave their groups.
///
/// The modules may be used otherwise, in turn. One module may be several stages; but the order of its forwards for
/// different stages is not fixed, so that such a module should draw no random numbers and keep no running statistics.
/// Source: Huang et al., "GPipe", 2019; `torch.distributed.pipeline.sync`.
/// Thread rule: any thread may call any member; batches of several threads follow each other.
template <class R, class... P>
class Pipeline<R(P...)> {
 public:
  /// Throws std::invalid_argument that names the stages: there are none, the types of neighbours do not fit, or what is
  /// stashed and what is popped are not the same (PipelineStage); or chunks is below 1.
  Pipeline(const Scope& scope, std::vector<PipelineStage> stages, const PipelineOptions& options = {})
      : core_(std::make_shared<const detail::PipelineCore>(
            scope, std::move(stages), options, std::vector<std::string>{schema_of<P>()...},
            detail::SchemasOf<typename detail::StageResults<R>::List>::list())) {}

  /// Returns the result of a batch. All micro-batches go forward; their backward passes are that of the context of
  /// `scope`. Without gradients (a NoGradGuard) any scope will do. Throws RemoteError; std::invalid_argument and
  /// ShapeError if the inputs cannot be split; std::logic_error if an input requires a gradient and the scope has no
  /// context.
  template <class... Args>
  R forward(const Scope& scope, Args&&... inputs) const {
    const auto split = split_inputs(std::forward<Args>(inputs)...);
    split.require_context(scope);
    const std::vector<detail::AnyRRef> inputs_of_batch = split.references(scope);
    const detail::PipelineCore::Round round(core_, split.sizes().size(), false);
    try {
      std::vector<Future<R>> arriving;
      for (const detail::AnyRRef& part : start(round, scope, inputs_of_batch)) {
        arriving.push_back(part.as<R>().to_here_async(scope));
      }
      std::vector<R> parts;
      for (const Future<R>& part : arriving) parts.push_back(part.get());
      return detail::joined(parts);
    } catch (...) {
      round.fail(detail::error_of_round());
      throw;
    }
  }

  /// As forward, but leaves the result on the node of the last stage and does not wait: errors appear when the
  /// reference is used.
  template <class... Args>
  RRef<R> forward_remote(const Scope& scope, Args&&... inputs) const {
    const auto split = split_inputs(std::forward<Args>(inputs)...);
    split.require_context(scope);
    const std::vector<detail::AnyRRef> inputs_of_batch = split.references(scope);
    const auto round = std::make_shared<const detail::PipelineCore::Round>(core_, split.sizes().size(), false);
    const std::vector<detail::AnyRRef> parts = start(*round, scope, inputs_of_batch);
    const RRef<R> all = core_->stage(core_->size() - 1).join(scope, parts).template as<R>();
    all.created(scope).then([round](const Result<Unit>& outcome) {
      if (!outcome) round->fail(outcome.error());
    });
    return all;
  }

  /// Runs forward and backward of a batch, each micro-batch in a context of its own, by the options' schedule. Returns
  /// the loss, a variable in the context of `scope`: its backward pass adds the sums over the micro-batches, in reverse
  /// order, to that context's gradients, so that a step may follow. A pass that starts with another gradient than 1
  /// scales the sums. Hooks of leaves run in that pass, once for the batch: on the sums.
  ///
  /// `inputs` is the one input, or a tuple of all. `loss` is a function that the nodes serve (or an operation) and runs
  /// on the last stage's node: it maps a stage's result and a part of each of `targets`, which are split as inputs are,
  /// to a Variable of no dimension. The batch's loss is their mean or sum, see LossOf. Variables in inputs and targets
  /// may require a gradient, and get it in that pass; and so do leaves on whichever nodes the stages or `loss` call.
  ///
  /// When this returns, all gradients are computed, whether or not a backward pass follows. A stage keeps one set of
  /// its parameters' gradients per micro-batch until then. Throws as forward; std::logic_error if the scope has no
  /// context or gradients are disabled.
  template <class Inputs, class Loss, class... Targets>
  Variable loss(const Scope& scope, Inputs&& inputs, const Loss& loss, Targets&&... targets) const;

  /// Returns references to the parameters of all stages, for a DistOptimizer; those of a module that is several stages
  /// once. Throws RemoteError.
  [[nodiscard]] std::vector<RRef<Variable>> parameters(const Scope& scope) const {
    return detail::parameters_of_stages(*core_, scope);
  }

  /// Sets the mode of all stages; returns when it is set. Throws RemoteError.
  void set_mode(const Scope& scope, nn::Mode mode) const { detail::set_mode_of_stages(*core_, scope, mode); }
  void train(const Scope& scope) const { set_mode(scope, nn::Mode::train); }
  void eval(const Scope& scope) const { set_mode(scope, nn::Mode::eval); }

  /// Returns the number of stages.
  [[nodiscard]] std::size_t size() const { return core_->size(); }

 private:
  using Split = detail::SplitInputs<P...>;

  template <class... Args>
  [[nodiscard]] Split split_inputs(Args&&... inputs) const {
    static_assert(sizeof...(Args) == sizeof...(P), "not as many inputs as the pipeline has parameters");
    return Split(core_->options().chunks, detail::GivenInput<P>(std::forward<Args>(inputs))...);
  }

  static std::vector<detail::AnyRRef> start(const detail::PipelineCore::Round& round, const Scope& scope,
                                            const std::vector<detail::AnyRRef>& inputs) {
    return round.start([&scope](std::size_t /*micro_batch*/) -> const Scope& { return scope; }, inputs);
  }

  std::shared_ptr<const detail::PipelineCore> core_;
};

template <class R, class... P>
template <class Inputs, class Loss, class... Targets>
Variable Pipeline<R(P...)>::loss(const Scope& scope, Inputs&& inputs, const Loss& loss, Targets&&... targets) const {
  const Split split = [&] {
    if constexpr (detail::StageResults<std::decay_t<Inputs>>::kMany) {
      return std::apply([&](auto&&... input) { return split_inputs(std::forward<decltype(input)>(input)...); },
                        std::forward<Inputs>(inputs));
    } else {
      return split_inputs(std::forward<Inputs>(inputs));
    }
  }();
  std::vector<detail::InputWithGradient> of_targets;
  const auto parts = detail::cut_targets(split, of_targets, std::forward<Targets>(targets)...);
  detail::LossRound round;
  round.sizes = split.sizes();
  round.inputs = split.cut_references(scope, round.with_gradient);
  round.with_gradient.insert(round.with_gradient.end(), of_targets.begin(), of_targets.end());
  round.loss = [&](const Scope& own, const detail::AnyRRef& results, std::size_t i) -> RRef<Variable> {
    return std::apply([&](const auto&... part) { return results.as<R>().remote(own, loss, part[i]...); }, parts);
  };
  return detail::run_loss_round(core_, scope, std::move(round));
}

Pipeline(const Scope&, std::vector<PipelineStage>, PipelineOptions = {}) -> Pipeline<>;

}  // namespace troupe
