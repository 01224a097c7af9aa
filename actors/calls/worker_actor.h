// Runs functions that peers request by name.
#pragma once

#include "actors/core/caf.h"
#include "actors/core/request.h"

namespace troupe::detail {

class NodeCore;

struct CallArrived {
  Delivery delivery;
};
struct StopWorking {};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CallArrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopWorking)

namespace troupe::detail {

/// Looks up the function and submits it to the pool.
/// Name: "<node>/worker".  Spawned by: NodeCore.  Ends: on StopWorking. A call whose handling throws is refused.
using WorkerActor = caf::typed_actor<caf::reacts_to<CallArrived>,  //
                                     caf::reacts_to<StopWorking>>;

/// REQUIRES: `node` outlives the actor.
WorkerActor::behavior_type worker_actor(WorkerActor::pointer self, NodeCore* node);

}  // namespace troupe::detail
