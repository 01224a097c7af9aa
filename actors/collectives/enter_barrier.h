// One member's part of a barrier: enters at the group's leader and waits for the others.
#pragma once

#include <string>
#include <vector>

#include "actors/group.h"
#include "actors/scope.h"
#include "messages/membership.h"

namespace troupe::detail {

/// Meets the others of `names` with the contribution `own`; `receiver`, unless empty, gets all contributions. The n-th
/// `operation` of one member meets the n-th of the others. Waits at most until the scope's deadline. Throws as
/// Group::barrier.
[[nodiscard]] msg::BarrierPassed enter_barrier(const Scope& scope, const std::vector<NodeName>& names,
                                               Failures failures, const std::string& operation,
                                               const NodeName& receiver, msg::Contribution own);

/// Returns the error for a value of member `from` that has another type or cannot be decoded.
[[nodiscard]] Error misfit(const std::string& operation, const NodeName& from, std::string what);

}  // namespace troupe::detail
