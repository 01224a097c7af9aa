// A piece of a backward pass that the context actor lends to a pool thread: steps over this node's part of the graph.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "actors/contexts/gradient_reducer.h"
#include "autograd/boundary.h"
#include "autograd/engine.h"
#include "autograd/gradients.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Find the boundaries on which these depend.
struct MarkGraph {
  std::vector<std::shared_ptr<const SendFn>> sends;
  std::vector<Variable> roots;
};
/// Marking is complete, and the pass leaves gradients for `inputs` only. Before the first root starts or boundary is
/// fed.
struct KeepOnly {
  std::vector<Variable> inputs;
};
/// Marking is complete: start the roots, each with gradient 1.
struct StartRoots {
  std::vector<Variable> roots;
};
/// Feed the gradients that the peer's end of a boundary collected.
struct FeedSend {
  std::shared_ptr<const SendFn> send;
  std::vector<Tensor> gradients;
};
/// The pass is complete on all nodes: release the operations that have run.
struct ReleaseGraph {};
using GraphStep = std::variant<MarkGraph, KeepOnly, StartRoots, FeedSend, ReleaseGraph>;

/// Owned by one at a time: the pass that lends it, or the job that runs it.
struct GraphWork {
  PassId pass;
  std::vector<std::shared_ptr<GradientReducer>> reducers;  ///< the same during the whole pass
  GraphTask task;
  std::vector<GraphStep> steps;

  // Results of run().
  std::vector<std::vector<std::shared_ptr<const RecvFn>>> reached;  ///< one per MarkGraph
  bool finished = true;                                             ///< all marked vertices have run
  Gradients gradients;                                              ///< of the leaves, set once finished
  std::optional<Error> failure;                                     ///< code, message, type; the caller sets the rest

  /// Takes the steps in order, then runs all ready vertices. Never throws.
  void run(GradientSink& sink);
};

}  // namespace troupe::detail
