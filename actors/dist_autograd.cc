#include "actors/dist_autograd.h"

#include <stdexcept>

#include "actors/contexts.h"
#include "actors/deadline.h"
#include "actors/node_core.h"
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
  throw std::logic_error(std::string("[") + operation + "] the scope has no autograd context: call through a DistContext");
}

}  // namespace

DistContext::DistContext(const Scope& scope) : Scope(scope_with_new_context(scope)) {}

DistContext::~DistContext() { state().node->contexts().release(id()); }

const ContextId& DistContext::id() const { return *state().context; }

Tensor DistContext::grad(const Variable& leaf) const { return state().node->contexts().gradient(id(), leaf).get(); }

Gradients DistContext::gradients() const { return troupe::gradients(*this); }

Gradients gradients(const Scope& scope) {
  return scope.state().node->contexts().gradients(context_of(scope, "gradients")).get();
}

void backward(const Scope& scope, const std::vector<Root>& roots) {
  const ContextId& context = context_of(scope, "backward");
  if (roots.empty()) throw TensorError("[backward] there are no roots");
  detail::PassRoots places;
  for (const Root& root : roots) {
    static_cast<void>(initial_gradient(root.variable()));  // a root that cannot start is the caller's mistake
    places.local.push_back(root.variable());
  }
  scope.state().node->contexts().backward(context, std::move(places), due_of(scope.state())).get();
}

void backward(const Scope& scope, const Root& root) { backward(scope, std::vector<Root>{root}); }

}  // namespace troupe
