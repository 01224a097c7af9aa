// Backward passes over graphs that span nodes.
//
//   DistContext ctx(node);
//   Variable y = ctx.rpc_sync("ps0", &project, x, w);
//   backward(ctx, sum(y));
//   ctx.grad(w);
//
// Gradients live in the context, never in the leaves; every node keeps the gradients of its own leaves. Passes over one
// context accumulate. Contexts are independent of each other, even if they share leaves.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/gradients.h"
#include "autograd/variable.h"

namespace troupe {

/// One distributed forward and backward pass, and the scope through which its calls are made. It ends on every
/// participating node when it is destroyed or its node dies. Thread rule: any thread may call any member.
class DistContext final : public Scope {
 public:
  /// Opens a context on the node of `scope`, with its deadline. Throws RemoteError{shutting_down} on a stopped node.
  explicit DistContext(const Scope& scope);

  /// Releases the context on every node. Never blocks; a backward pass that still runs fails with context_aborted.
  ~DistContext();
  DistContext(const DistContext&) = delete;
  DistContext& operator=(const DistContext&) = delete;

  [[nodiscard]] const ContextId& id() const;

  /// Returns the gradient of `leaf`, a variable of this node; undefined if no gradient reached it. Throws RemoteError:
  /// context_aborted if a participating node is down; shutting_down.
  [[nodiscard]] Tensor grad(const Variable& leaf) const;

  /// As above, for a leaf on any node. Throws also RemoteError of a call to its owner.
  [[nodiscard]] Tensor grad(const RRef<Variable>& leaf) const;

  /// Returns the gradients of all leaves of this node that have one. Throws as grad.
  [[nodiscard]] Gradients gradients() const;
};

/// For served functions: returns the gradients that leaves of this node have in the scope's context. Throws
/// std::logic_error if `scope` has no context, RemoteError as DistContext::grad.
[[nodiscard]] Gradients gradients(const Scope& scope);

/// The start of a backward pass, on this node or another: a variable of one element, with gradient 1, or a variable and
/// its gradient, of the same shape and dtype. REQUIRES: it requires a gradient.
class Root {
 public:
  Root(Variable variable, Tensor gradient = {}) : place_(std::move(variable)), gradient_(std::move(gradient)) {}
  Root(RRef<Variable> variable, Tensor gradient = {}) : place_(std::move(variable)), gradient_(std::move(gradient)) {}

  [[nodiscard]] const std::variant<Variable, RRef<Variable>>& place() const { return place_; }
  /// Undefined: 1.
  [[nodiscard]] const Tensor& gradient() const { return gradient_; }

 private:
  std::variant<Variable, RRef<Variable>> place_;
  Tensor gradient_;
};

namespace detail {

// Every node serves these.

/// Returns the gradient of this node's leaf in the scope's context.
[[nodiscard]] Tensor gradient_at_owner(Scope& scope, const RRef<Variable>& leaf);
/// As seeded_root, for a root of this node.
[[nodiscard]] Variable seeded_at_owner(Scope& scope, const RRef<Variable>& root, const Tensor& gradient);

}  // namespace detail

/// Adds the gradients of the sum over `roots` to the scope's context, on every node that the graph reaches, and waits
/// until all are complete; exact for any graph. Passes started on one node run one after the other.
/// Throws TensorError if `roots` is empty or a root of this node is undefined, requires no gradient, does not fit its
/// gradient or has, without one, more than one element; std::logic_error if `scope` has no context; RemoteError:
/// bad_argument or remote_exception for such a root on another node,
/// the error of a failed reference, context_aborted if a participating node dies or the context is released,
/// remote_exception if the backward of an operation throws on any node, timeout at the scope's deadline. After any
/// error but context_aborted the context is usable and holds nothing of the failed pass.
void backward(const Scope& scope, const std::vector<Root>& roots);
void backward(const Scope& scope, const Root& root);

}  // namespace troupe
