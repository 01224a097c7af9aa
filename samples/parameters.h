// The parameters of a module that lives on another node, as references: what a DistOptimizer takes.
#pragma once

#include <vector>

#include "actors/rref.h"
#include "autograd/variable.h"

namespace samples {

/// References to the parameters of `module`, in their order. Serve it on the node that owns the module.
template <class Module>
std::vector<troupe::RRef<troupe::Variable>> parameters_of(troupe::Scope& scope, const troupe::RRef<Module>& module) {
  std::vector<troupe::RRef<troupe::Variable>> references;
  for (const troupe::Variable& parameter : module.local_value(scope)->parameters()) {
    references.emplace_back(scope, parameter);
  }
  return references;
}

}  // namespace samples
