// The parameters of a module as references: what a DistOptimizer takes.
#pragma once

#include <vector>

#include "actors/rref.h"
#include "autograd/nn/module.h"
#include "autograd/variable.h"

namespace troupe {

/// Returns references to the parameters of a module of this node, in the order of parameters().
[[nodiscard]] std::vector<RRef<Variable>> parameters_of(Through through, const nn::Module& module);

namespace detail {

/// Runs on the node of `module`.
template <class M>
std::vector<RRef<Variable>> parameters_at_owner(Scope& scope, const RRef<M>& module) {
  return parameters_of(scope, *module.local_value(scope));
}

}  // namespace detail

/// Returns references to the parameters of a module on its node. Its class is registered there by a module_class.
/// Throws RemoteError.
template <class M>
[[nodiscard]] std::vector<RRef<Variable>> parameters_of(Through through, const RRef<M>& module) {
  const Scope outside = detail::without_context(through.scope);
  return outside.rpc_sync({module.owner(), through.site}, &detail::parameters_at_owner<M>, module);
}

}  // namespace troupe
