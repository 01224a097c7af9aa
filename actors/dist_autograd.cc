#include "actors/dist_autograd.h"

#include <optional>
#include <stdexcept>
#include <string>

#include "actors/contexts/contexts.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/node_core.h"
#include "actors/deadline.h"
#include "autograd/engine.h"
#include "tensor/error.h"

namespace troupe {
namespace {

Scope scope_with_new_context(const Scope& scope) {
  auto state = std::make_shared<detail::ScopeState>(scope.state());
  state->context = state->node->contexts().open();
  state->counters = std::make_shared<detail::CallCounters>();
  return Scope(std::move(state));
}

const ContextId& context_of(const Scope& scope, const char* operation) {
  if (scope.state().context) return *scope.state().context;
  throw std::logic_error(std::string("[") + operation +
                         "] the scope has no autograd context: call through a DistContext");
}

/// Returns the variable behind a reference to a value of this node.
Variable value_here(const Scope& scope, const RRef<Variable>& rref, std::optional<TimePoint> due) {
  detail::NodeCore& node = *scope.state().node;
  const Promise<std::vector<Variable>> found(node.future_home());
  detail::variables_of(node, {rref.id()}, {node.name(), node.incarnation()},
                       [found](Result<std::vector<Variable>> values) { found.complete(std::move(values)); });
  if (!due) return found.future().get().front();
  auto values = found.future().get_for(*due - node.clock().now());
  if (!values)
    throw RemoteError(node.error(ErrorCode::timeout, node.name(), "backward", rref.text() + " does not exist yet"));
  return values->value().front();
}

}  // namespace

DistContext::DistContext(const Scope& scope) : Scope(scope_with_new_context(scope)) {}

DistContext::~DistContext() { state().node->contexts().release(id()); }

const ContextId& DistContext::id() const { return *state().context; }

Tensor DistContext::grad(const Variable& leaf) const { return state().node->contexts().gradient(id(), leaf).get(); }

Tensor DistContext::grad(const RRef<Variable>& leaf) const {
  return rpc_sync(leaf.owner(), &detail::gradient_at_owner, leaf);
}

namespace detail {

Tensor gradient_at_owner(Scope& scope, const RRef<Variable>& leaf) {
  const Variable mine = *leaf.local_value(scope);
  return scope.state().node->contexts().gradient(context_of(scope, "grad"), mine).get();
}

Variable seeded_at_owner(Scope& scope, const RRef<Variable>& root, const Tensor& gradient) {
  return seeded_root(*root.local_value(scope), gradient);
}

}  // namespace detail

Gradients DistContext::gradients() const { return troupe::gradients(*this); }

Gradients gradients(const Scope& scope) {
  return scope.state().node->contexts().gradients(context_of(scope, "gradients")).get();
}

void backward(const Scope& scope, const std::vector<Root>& roots) {
  const ContextId& context = context_of(scope, "backward");
  if (roots.empty()) throw TensorError("[backward] there are no roots");
  const auto due = due_of(scope.state());
  detail::PassRoots places;
  std::vector<RRef<Variable>> seeded;  // on other nodes; kept until the pass is over
  for (const Root& root : roots) {
    const bool has_gradient = root.gradient().defined();
    const auto* rref = std::get_if<RRef<Variable>>(&root.place());
    if (rref != nullptr && rref->owner() != scope.node_name()) {
      if (has_gradient) seeded.push_back(scope.remote(rref->owner(), &detail::seeded_at_owner, *rref, root.gradient()));
      places.remote[rref->owner()].push_back(has_gradient ? seeded.back().id() : rref->id());
    } else {
      const Variable given = rref == nullptr ? std::get<Variable>(root.place()) : value_here(scope, *rref, due);
      places.local.push_back(has_gradient ? seeded_root(given, root.gradient()) : given);
      static_cast<void>(initial_gradient(places.local.back()));  // an invalid root is the caller's error
    }
  }
  scope.state().node->contexts().backward(context, std::move(places), due).get();
}

void backward(const Scope& scope, const Root& root) { backward(scope, std::vector<Root>{root}); }

}  // namespace troupe
