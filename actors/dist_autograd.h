// Backward passes over graphs that span nodes.
//
//   DistContext ctx(node);
//   Variable y = ctx.rpc_sync("ps0", &project, x, w);
//   backward(ctx, sum(y));
//   ctx.grad(w);
//
// Gradients live in the context, never in the leaves; every node keeps those of its own leaves. Passes over one context
// add up; different contexts never mix, also where they share leaves.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/gradients.h"
#include "autograd/variable.h"

namespace troupe {

/// One distributed forward and backward pass, and the scope to make its calls through. Ends on every node that took part
/// when it is destroyed, or when its node dies. Any thread may call any member.
class DistContext final : public Scope {
 public:
  /// Opens a context on the node of `scope`, with its deadline. Throws RemoteError{shutting_down} on a stopped node.
  explicit DistContext(const Scope& scope);

  /// Releases the context everywhere. Never blocks; a backward that still runs fails with context_aborted.
  ~DistContext();
  DistContext(const DistContext&) = delete;
  DistContext& operator=(const DistContext&) = delete;

  [[nodiscard]] const ContextId& id() const;

  /// The gradient of `leaf`, a variable of this node; undefined if none reached it.
  /// Throws RemoteError: context_aborted if a node that took part is gone, shutting_down.
  [[nodiscard]] Tensor grad(const Variable& leaf) const;

  /// The gradients of all leaves of this node that any reached. Throws as grad.
  [[nodiscard]] Gradients gradients() const;
};

/// The gradients that leaves of this node have in the scope's context: for functions served in it.
/// Throws std::logic_error if `scope` has no context, RemoteError as DistContext::grad.
[[nodiscard]] Gradients gradients(const Scope& scope);

/// Where a backward pass begins, with gradient 1: a variable of one element that requires a gradient, here or on another
/// node.
class Root {
 public:
  Root(Variable variable) : place_(std::move(variable)) {}
  Root(RRef<Variable> variable) : place_(std::move(variable)) {}

  [[nodiscard]] const std::variant<Variable, RRef<Variable>>& place() const { return place_; }

 private:
  std::variant<Variable, RRef<Variable>> place_;
};

/// Adds the gradients of the sum over `roots` to the scope's context, on every node that the graph reaches, and waits
/// until all are complete; exact for any graph. Passes begun on one node run one after the other.
/// Throws TensorError if `roots` is empty or a root of this node is undefined, requires no gradient or has more than one
/// element; std::logic_error if `scope` has no context; RemoteError: bad_argument for such a root on another node, what
/// made a reference fail, context_aborted if a node that takes part dies or the context was released, remote_exception
/// if the backward of an operation threw somewhere, timeout at the scope's deadline. After an error other than
/// context_aborted the context can be used again and holds nothing of that pass.
void backward(const Scope& scope, const std::vector<Root>& roots);
void backward(const Scope& scope, const Root& root);

}  // namespace troupe
