// A round with a loss: forward and backward of every micro-batch, each in a context of its own, whose gradients are
// summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/pipeline/pipeline_core.h"
#include "actors/rref.h"
#include "autograd/variable.h"

namespace troupe::detail {

/// An input of the pipeline that requires a gradient.
struct InputWithGradient {
  Variable whole;
  std::vector<Variable> parts;  ///< leaves, one per micro-batch: the graph of `whole` is not part of their contexts
  bool is_split = true;         ///< each micro-batch has some rows of it; else all of it
};

/// Returns `whole` in parts of so many rows, or the whole for each micro-batch, as leaves.
[[nodiscard]] InputWithGradient cut_input(const Variable& whole, bool is_split, const std::vector<std::int64_t>& sizes);

struct LossRound {
  std::vector<std::int64_t> sizes;  ///< rows of each micro-batch
  std::vector<AnyRRef> inputs;      ///< by micro-batch
  std::vector<InputWithGradient> with_gradient;
  /// Starts the computation of a micro-batch's loss from its results.
  std::function<RRef<Variable>(const Scope& scope, const AnyRRef& results, std::size_t micro_batch)> loss;
};

/// Runs the round and returns its loss, a variable of the context of `scope`: its backward pass leaves there the sums
/// of the gradients that the round has found. Throws RemoteError; std::logic_error if `scope` has no context.
[[nodiscard]] Variable run_loss_round(std::shared_ptr<const PipelineCore> core, const Scope& scope, LossRound round);

/// The loss of a micro-batch, as its driver sees it.
struct MicroBatchLoss {
  Tensor value;
  std::optional<std::vector<NodeName>> nodes;  ///< those of its backward pass; nullopt: its node does not know them
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, nodes);
  }
};

// Every node serves these.

/// Returns what the driver needs of the loss of a micro-batch, whose context is that of `scope`. Throws ShapeError
/// unless it is one element.
[[nodiscard]] MicroBatchLoss loss_value(Scope& scope, const RRef<Variable>& loss);
/// Returns the start of a micro-batch's backward pass: a variable whose gradient 1 gives `loss` the gradient `weight`.
[[nodiscard]] Variable weighted_loss(Scope& scope, const RRef<Variable>& loss, double weight);

}  // namespace troupe::detail
