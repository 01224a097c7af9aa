// One member's part of a barrier: enters where the group meets and waits for the others.
#pragma once

#include <string>
#include <vector>

#include "actors/group.h"
#include "actors/scope.h"
#include "messages/membership.h"

namespace troupe::detail {

/// Meets the others of `names`, at `receiver` if there is one, bringing `own`. The n-th `operation` of one member meets the
/// n-th of the others. Waits until the scope's deadline at most. Throws what Group::barrier throws.
[[nodiscard]] msg::BarrierPassed enter_barrier(const Scope& scope, const std::vector<NodeName>& names, Failures failures,
                                               const std::string& operation, const NodeName& receiver, msg::Contribution own);

}  // namespace troupe::detail
