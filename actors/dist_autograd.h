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

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "actors/contexts/unused_boundary.h"
#include "actors/deadline.h"
#include "actors/future.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/engine.h"
#include "autograd/gradients.h"
#include "autograd/variable.h"
#include "tensor/sparse.h"

namespace troupe {

/// The gradient of a leaf of another node.
struct RemoteGradient {
  RRef<Variable> leaf;  ///< held on its node; for DistOptimizer, `grad` and calls
  Tensor gradient;      ///< undefined if it is kept as rows
  SparseTensor rows;    ///< coalesced; undefined if `gradient` is defined
  template <class Archive>
  void serialize(Archive& ar) {
    ar(leaf, gradient, rows);
  }
};

/// One distributed forward and backward pass, and the scope through which its calls are made. It ends on every
/// participating node when it is destroyed or its node dies; calls through a copy of its Scope then fail with
/// context_aborted. Thread rule: any thread may call any member.
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

  /// Returns the gradients of all leaves of another node that have one, in the order in which they were found. Throws
  /// as grad of a reference.
  [[nodiscard]] std::vector<RemoteGradient> gradients(To node) const;

  /// For finding results that the loss does not use: returns the messages, on all nodes that the context reached, whose
  /// values got no gradient in the last successful pass that this node began. Throws RemoteError of calls to these
  /// nodes; bad_argument if there was no such pass.
  [[nodiscard]] std::vector<UnusedBoundary> unused_boundaries() const;
};

/// For served functions: returns the gradients that leaves of this node have in the scope's context. Throws
/// std::logic_error if `scope` has no context, RemoteError as DistContext::grad.
[[nodiscard]] Gradients gradients(const Scope& scope);

/// The start of a backward pass, on this node or another: a variable of one element, with gradient 1, or a variable and
/// its gradient, of the same shape and dtype. REQUIRES: it requires a gradient.
class Root {
 public:
  Root(Variable variable, Tensor gradient = {});
  Root(RRef<Variable> variable, Tensor gradient = {});

  [[nodiscard]] const std::variant<Variable, RRef<Variable>>& place() const { return place_; }
  /// Returns the given gradient; undefined stands for 1.
  [[nodiscard]] const Tensor& gradient() const { return gradient_; }

 private:
  std::variant<Variable, RRef<Variable>> place_;
  Tensor gradient_;
};

/// A variable on this node or another whose gradient a pass is asked for. REQUIRES: it requires a gradient.
class Input {
 public:
  Input(Variable variable);
  Input(RRef<Variable> variable);
  ~Input();
  Input(const Input&);
  Input(Input&&) noexcept;
  Input& operator=(const Input&);
  Input& operator=(Input&&) noexcept;

  [[nodiscard]] const std::variant<Variable, RRef<Variable>>& place() const { return place_; }

 private:
  std::variant<Variable, RRef<Variable>> place_;
};

/// Options of a backward pass over nodes.
struct DistBackwardOptions {
  /// `keep`: the graph stays for further passes until the context ends. `release`: once the pass is complete on all
  /// nodes, and before backward() returns, every node frees what the pass's operations have saved. PyTorch's default is
  /// `release`; here it is `keep`, since the graph ends with its context anyway. After `release` a later pass that
  /// reaches one of these operations fails with bad_argument `[backward] mul: an earlier backward pass released its
  /// graph` and the name of the node. A pass that fails releases nothing, unless the context is aborted. REQUIRES, for
  /// `release`: no other pass over the graph runs at the same time.
  Graph graph = Graph::keep;
  /// Empty: all leaves, on all nodes, get their gradients. Otherwise only these variables do, leaves or not, in
  /// addition to what earlier passes found; on each node only operations between its roots, its boundaries and its
  /// inputs run. An input that no root depends on gets none, as with `inputs` of PyTorch's `backward`. All nodes and
  /// boundaries take part as they do without inputs, and so do the nodes of the inputs. Hooks of the inputs run, those
  /// of other leaves do not. In a round of DataParallel a parameter counts as used if it is an input of some member's
  /// pass.
  std::vector<Input> inputs{};
  /// The time for this pass, instead of the scope's own; in a served function never beyond the end of its call.
  std::optional<Deadline> deadline = {};
};

namespace detail {

// Every node serves these.

/// Returns the gradient of this node's leaf in the scope's context.
[[nodiscard]] Tensor gradient_at_owner(Scope& scope, const RRef<Variable>& leaf);
/// Returns the gradients of this node's leaves in the scope's context.
[[nodiscard]] std::vector<RemoteGradient> gradients_at_owner(Scope& scope);
/// Returns this node's boundaries in the scope's context that have values without a gradient in `pass`.
[[nodiscard]] UnusedHere unused_here(Scope& scope, const PassId& pass);
/// As seeded_root, for a root of this node.
[[nodiscard]] Variable seeded_at_owner(Scope& scope, const RRef<Variable>& root, const Tensor& gradient);

}  // namespace detail

/// Adds the gradients of the sum over `roots` to the scope's context, on every node that the graph reaches, and waits
/// until all are complete; exact for any graph. Passes started on one node run one after the other.
/// Throws TensorError if `roots` is empty or a root of this node is undefined, requires no gradient, does not fit its
/// gradient or has, without one, more than one element; std::logic_error if `scope` has no context, or the caller is a
/// hook or an operation of a pass that this node started on it; RemoteError: bad_argument or remote_exception for such
/// a root on another node, the error of a failed reference, context_aborted if a participating node dies or the context
/// is released, remote_exception if the backward of an operation throws on any node, timeout at the deadline,
/// cancelled. After any error but context_aborted the context is usable and holds nothing of the failed pass.
/// The same holds for inputs: TensorError `[backward] input 1 requires no gradient` for one of this node, RemoteError
/// bad_argument with its reference for one on another.
void backward(const Scope& scope, const std::vector<Root>& roots, const DistBackwardOptions& options = {});
void backward(const Scope& scope, const Root& root, const DistBackwardOptions& options = {});

/// As backward(), without waiting. `cancel` of the future fails it with `cancelled` and undoes the pass on all nodes:
/// no node keeps a gradient of it, and the context is usable; operations that already run end first. A pass that is
/// begun in a served function is also cancelled when its caller cancels the call. A pass with Graph::release that is
/// cancelled just as it becomes complete may have released its graph. Throws at once, as backward(), if `roots` is
/// empty, if `scope` has no context, and for roots and inputs that cannot be used; but if one of these is a reference
/// to a value of this node, which may not exist yet, errors of roots and inputs are in the future, as all others are.
[[nodiscard]] Future<void> backward_async(const Scope& scope, const std::vector<Root>& roots,
                                          const DistBackwardOptions& options = {});
[[nodiscard]] Future<void> backward_async(const Scope& scope, const Root& root,
                                          const DistBackwardOptions& options = {});

}  // namespace troupe
