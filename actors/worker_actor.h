// Runs functions that peers ask for by name.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <stop_token>
#include <utility>

#include "actors/caf.h"
#include "actors/node_core.h"

namespace troupe::detail {

/// A Call or a CallCancelled that arrived.
struct WorkArrived {
  Delivery delivery;
};
/// The function that served `request` of `caller` has answered.
struct WorkEnded {
  NodeName caller;
  RequestId request;
};
/// Nobody waits for what this life of a node asked for.
struct CallerGone {
  Peer caller;
};
struct StopWorking {};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::WorkArrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::WorkEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CallerGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopWorking)

namespace troupe::detail {

/// Looks the function up and gives it to the pool; keeps a stop source per call that is being served.
/// Name: "<node>/worker".  Spawned by: NodeCore.  Ends: on StopWorking; functions are told to stop.
using WorkerActor = caf::typed_actor<caf::reacts_to<WorkArrived>,  //
                                     caf::reacts_to<WorkEnded>,    //
                                     caf::reacts_to<CallerGone>,   //
                                     caf::reacts_to<StopWorking>>;

struct WorkerState {
  std::map<std::pair<NodeName, RequestId>, std::stop_source> serving;
  static inline const char* name = "worker";
};

/// `node` and `served` outlive the actor; `served` is kept up to date for debug info.
WorkerActor::behavior_type worker_actor(WorkerActor::stateful_pointer<WorkerState> self, NodeCore* node,
                                        std::atomic<std::size_t>* served);

}  // namespace troupe::detail
