// Updates that the owners of parameters compute during the backward pass, for the step that follows it.
#pragma once

#include "actors/scope.h"
#include "messages/ids.h"
#include "messages/optim.h"

namespace troupe::detail {

/// Every node serves this, for the node of `optimizer`: in the passes of the scope's context that begin from now on,
/// the shard of `optimizer` prepares the update of each parameter as soon as its gradient is final. Once for each
/// context: a second pass adds to the gradients, and the step computes all updates itself. Throws RemoteError:
/// step_not_applied if there is no shard; protocol_violation for another caller; std::logic_error without a context.
void prepare_in_pass(Scope& scope, const OptimizerId& optimizer, const msg::StepSettings& settings);

}  // namespace troupe::detail
