// Handles every message that enters or leaves a node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/query.h"
#include "actors/core/wake_times.h"
#include "actors/future.h"
#include "actors/sessions/router.h"

namespace troupe::detail {

struct SendRequest {
  PackedRequest request;
  AnswerHandler done;
};
/// The answer is no longer needed.
struct CancelRequest {
  RequestId request;
};
struct SendNotification {
  NodeName to;
  std::optional<Incarnation> life;  ///< nullopt: the present life of the name
  Parcel parcel;
  Haste haste = Haste::at_once;
};
struct SendNotificationToSelf {
  std::string actor;
  msg::AnyMessage message;
};
struct SendAnswer {
  NodeLife to;
  PackedAnswer answer;
};
struct SendAnswerToSelf {
  RequestId request;
  msg::AnyMessage message;
};
/// Calls of a peer have started: it may send more.
struct CallsStarted {
  NodeLife peer;
};
struct LinkUp {
  Peer peer;
};
struct LinkDown {
  NodeName peer;
  Incarnation incarnation;
  Error why;
};
struct ReceivedFrames {
  NodeName from;
  Incarnation incarnation;
  Frames frames;
};
struct PeerReached {
  NodeName peer;
  Incarnation incarnation;
  Reach change = Reach::reachable;
  Duration silence{0};
};
struct TickDue {};
/// Asks for the oldest pending requests.
struct ListOldest {
  std::size_t count = 0;
  Query<PendingCall>::ReplySlot slot;
};
struct StopRouting {
  Error why;
  Promise<void> stopped;  ///< completed once the goodbyes are on the link
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CancelRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendNotification)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendAnswer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendNotificationToSelf)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendAnswerToSelf)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CallsStarted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::LinkUp)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::LinkDown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ReceivedFrames)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PeerReached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::TickDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ListOldest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopRouting)

namespace troupe::detail {

/// Runs the Router (router.h), which has the rules.
/// Name: "<node>/router".  Spawned by: NodeCore.  Ends: on StopRouting, after every pending request has its answer. An
/// exception of a handler ends the node; in the handler of an outgoing request it fails that request.
using RouterActor = caf::typed_actor<caf::reacts_to<ReceivedFrames>,          //
                                     caf::reacts_to<SendNotification>,        //
                                     caf::reacts_to<SendRequest>,             //
                                     caf::reacts_to<SendAnswer>,              //
                                     caf::reacts_to<CallsStarted>,            //
                                     caf::reacts_to<CancelRequest>,           //
                                     caf::reacts_to<SendNotificationToSelf>,  //
                                     caf::reacts_to<SendAnswerToSelf>,        //
                                     caf::reacts_to<LinkUp>,                  //
                                     caf::reacts_to<LinkDown>,                //
                                     caf::reacts_to<PeerReached>,             //
                                     caf::reacts_to<TickDue>,                 //
                                     caf::reacts_to<ListOldest>,              //
                                     caf::reacts_to<StopRouting>>;

/// The actor's surroundings; all outlive it.
struct RouterSetting {
  Peer self;
  Router::Callbacks* callbacks = nullptr;
  Lives* lives = nullptr;
  RouterOptions options;
  Clock* clock = nullptr;
  std::function<void(TimePoint)> wake_at;  ///< requests a TickDue at that time
  ActorHost::Lost failed;                  ///< called when the node cannot continue
};

struct RouterState {
  std::unique_ptr<Router> router;
  RouterSetting setting;
  WakeTimes wakes;  // of TickDue
  static inline const char* name = "router";

  [[nodiscard]] TimePoint now() const { return setting.clock->now(); }
  /// Requests a wake-up when work is due next. Every handler ends with it.
  void settle();
};

RouterActor::behavior_type router_actor(RouterActor::stateful_pointer<RouterState> self, RouterSetting setting);

}  // namespace troupe::detail
