// Replaces the gradients that backward passes of a context find on this node, before the context records them: data
// parallelism replaces them by the mean over all replicas.
#pragma once

#include <functional>
#include <memory>

#include "autograd/gradients.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Takes part in every pass of the contexts to which it is attached. Of each pass it gets `begin`, then any number of
/// `found`, then `found_all` and one `finish`, in this order. `fail` may come at any time after `begin`, until
/// `complete`; also after a `begin` that threw. What threw std::bad_alloc, `begin` excepted, may be called again.
///
/// Threads: `found` is called on the pool, never at the same time for one pass, but maybe at the same time as `fail` or
/// after it. All others are called in the turn of the context's actor and do not block.
class GradientReducer {
 public:
  /// Takes what the pass adds to the context on this node. Called once, on any thread.
  using Done = std::function<void(Result<Gradients>)>;

  virtual ~GradientReducer() = default;

  virtual void begin(const PassId& pass) = 0;

  /// The gradient of `leaf` is final in the pass: see GradientSink::found.
  virtual void found(const PassId& pass, const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) = 0;

  /// The pass is done on this node. On the node that started the pass: it is done on all other nodes, too. Called for
  /// all reducers of the context before the first of them finishes, so that they may wait for peers in any order.
  virtual void found_all(const PassId& /*pass*/) {}

  /// The pass has found `gradients`, of which earlier reducers have replaced some. An Error given to `done` fails the
  /// pass.
  virtual void finish(const PassId& pass, Gradients gradients, Done done) = 0;

  /// The pass has failed with `why`, or its caller has given it up; a result given to `done` is not used any more. On
  /// other nodes than the one that started the pass also its context has ended, with context_aborted: the pass may have
  /// succeeded before.
  virtual void fail(const PassId& pass, const Error& why) = 0;

  /// `later` is about to be attached after this reducer. Returns true if this reducer takes `later` for the passes of
  /// another context: then `later` is not attached here.
  [[nodiscard]] virtual bool diverts(const std::shared_ptr<GradientReducer>& /*later*/) { return false; }

  /// Returns whether hooks of this node's leaves do not run in the context's passes, because the gradients go on to
  /// another pass that runs the hooks. The result does not change during a pass.
  [[nodiscard]] virtual bool defers_leaf_hooks() const { return false; }

  /// The pass is complete on all nodes, and its caller has its success: `fail` does not follow. Other nodes than the
  /// one that started it learn this when that begins another pass of the context, if ever.
  virtual void complete(const PassId& /*pass*/) {}
};

}  // namespace troupe::detail
