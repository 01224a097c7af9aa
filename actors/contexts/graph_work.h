// A piece of a backward pass that leaves the context actor for a pool thread and comes back: steps over this node's part
// of the graph.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "autograd/boundary.h"
#include "autograd/engine.h"
#include "autograd/gradients.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Find what these depend on.
struct MarkGraph {
  std::vector<std::shared_ptr<const SendFn>> sends;
  std::vector<Variable> roots;
};
/// Marking is complete: start the roots, each with gradient 1.
struct StartRoots {
  std::vector<Variable> roots;
};
/// What the peer's end of a boundary collected.
struct FeedSend {
  std::shared_ptr<const SendFn> send;
  std::vector<Tensor> gradients;
};
using GraphStep = std::variant<MarkGraph, StartRoots, FeedSend>;

/// One owner at a time: the pass that lends it, or the job that runs it.
struct GraphWork {
  PassId pass;
  GraphTask task;
  std::vector<GraphStep> steps;

  // Results of run().
  std::vector<std::vector<std::shared_ptr<const RecvFn>>> reached;  ///< one per MarkGraph
  bool finished = true;                                             ///< all that is marked has run
  Gradients gradients;                                              ///< of the leaves, once finished
  std::optional<Error> failure;                                     ///< code, message and type; the rest is the caller's

  /// Takes the steps in order, then runs all that is ready. Never throws.
  void run(GradientSink& sink);
};

}  // namespace troupe::detail
