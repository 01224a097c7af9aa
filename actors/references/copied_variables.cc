#include "actors/references/copied_variables.h"

#include "actors/core/node_core.h"
#include "actors/references/references.h"

namespace troupe::detail {

void CopiedVariables::add(const void* variable, const RRefId& rref) {
  const std::lock_guard lock(mutex_);
  rrefs_.emplace(variable, rref);
}

void CopiedVariables::remove(const void* variable, const RRefId& rref) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = rrefs_.equal_range(variable);
  for (auto at = first; at != last; ++at) {
    if (at->second != rref) continue;
    rrefs_.erase(at);
    return;
  }
}

std::vector<RRefId> CopiedVariables::of(const Variable& variable) const {
  const std::lock_guard lock(mutex_);
  std::vector<RRefId> all;
  const auto [first, last] = rrefs_.equal_range(variable.id());
  for (auto at = first; at != last; ++at) all.push_back(at->second);
  return all;
}

void announce_changes(const ScopeState& scope, const std::vector<Variable>& changed) {
  for (const Variable& variable : changed) scope.node->references().changed(variable, nullptr);
}

}  // namespace troupe::detail
