// Which references to a Variable have copies on other nodes (RRef::cached). A plain class.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "actors/calls/scope_state.h"
#include "autograd/variable.h"
#include "messages/ids.h"

namespace troupe::detail {

/// The references that were copied, by Variable::id(). Several references may lead to one variable: a change of it
/// makes the copies of all of them out of date. Thread rule: any thread may call any member.
class CopiedVariables {
 public:
  void add(const void* variable, const RRefId& rref);
  void remove(const void* variable, const RRefId& rref);

  /// Returns the references with copies of `variable`, in the order in which they were first copied.
  [[nodiscard]] std::vector<RRefId> of(const Variable& variable) const;

 private:
  mutable std::mutex mutex_;
  std::multimap<const void*, RRefId> rrefs_;  // guarded by mutex_
};

/// Declares all copies of these variables, which the node of `scope` owns, out of date. Call it after their values were
/// set, with no lock held.
void announce_changes(const ScopeState& scope, const std::vector<Variable>& changed);

}  // namespace troupe::detail
