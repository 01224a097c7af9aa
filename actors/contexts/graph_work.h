// A piece of a backward pass that the context actor passes to a pool thread: steps over this node's part of the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "actors/contexts/gradient_reducer.h"
#include "actors/contexts/short_work.h"
#include "autograd/boundary.h"
#include "autograd/engine.h"
#include "autograd/gradients.h"
#include "messages/autograd.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Find the boundaries on which these depend.
struct MarkGraph {
  std::vector<std::shared_ptr<const SendFn>> sends;
  std::vector<Variable> roots;
  std::optional<std::vector<BoundaryId>> must_reach = {};    ///< ascending; other boundaries are a failure
  GraphTask::Hooks hooks = GraphTask::Hooks::as_registered;  ///< set by GraphWork::add
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

/// Owned by one at a time: the pass, or the job that runs it.
struct GraphWork {
  PassId pass;
  std::vector<std::shared_ptr<GradientReducer>> reducers;  ///< the same during the whole pass
  std::shared_ptr<const msg::BackwardRoute> route;         ///< null if the boundaries were marked
  std::set<NodeName> know_route;
  GraphTask task;
  std::vector<GraphStep> steps;  ///< by add()

  // Results of run().
  std::vector<std::vector<std::shared_ptr<const RecvFn>>> reached;  ///< one per MarkGraph without must_reach
  bool finished = true;                                             ///< all marked vertices have run
  Gradients gradients;                                              ///< of the leaves, set once finished
  std::optional<Error> failure;                                     ///< code, message, type; the caller sets the rest

  /// Adds a step to `steps`.
  void add(GraphStep step);

  /// Returns whether the steps that were added since the last run take at most some ten microseconds each, run no user
  /// code and wait for nothing, so that they need no pool. A long pass may be short step by step.
  [[nodiscard]] bool is_short() const {
    return is_safe_ && marked_ <= ShortWork::kMax && run_ <= ShortWork::kMax && reducers.empty();
  }

  /// Takes the steps in order, then runs all ready vertices. Never throws.
  void run(GradientSink& sink);

  /// Returns the message that delivers gradients of `recv` to `tag_of(recv)->peer`.
  [[nodiscard]] msg::BackwardGradients message_for(const RecvFn& recv, std::vector<Tensor> values) const;

 private:
  void weigh(MarkGraph& mark);
  void weigh(const KeepOnly& step);
  void weigh(const StartRoots& start);
  void weigh(const FeedSend& feed);
  void weigh(const ReleaseGraph& step);
  void add_mark(const GradFn& start);

  bool is_safe_ = true;       // each start that was marked is short alone, and nothing from there is user code
  std::uint64_t marked_ = 0;  // GradFn::work() of the starts that `steps` mark
  std::uint64_t run_ = 0;     // of those from which they run: whatever becomes ready lies beyond them
  std::uint64_t all_ = 0;     // of all that the pass has marked
};

}  // namespace troupe::detail
