// Which message goes where: to peers through sessions, to actors of this node, to the requester that waits for it.
//
// A plain class; router_actor.cc runs it, one message at a time. It keeps the sessions with all peers and the table of
// requests that wait for an answer. Every request is answered exactly once: by its reply, its deadline, its peer's end
// or ours (CT-1).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "actors/call_table.h"
#include "actors/core/lives.h"
#include "actors/failure_detector.h"
#include "actors/link.h"
#include "actors/node_core.h"
#include "actors/session.h"
#include "messages/codec.h"

namespace troupe::detail {

/// Calls `stopped` when one of the tokens stops, while it lives.
class StopWatch {
 public:
  StopWatch(const std::vector<std::stop_token>& tokens, const std::function<void()>& stopped) {
    for (const std::stop_token& token : tokens) callbacks_.emplace_back(token, stopped);
  }

 private:
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

/// Who waits for the answer to a request, and what may end the wait.
struct WaitingRequest {
  AnswerHandler done;
  std::unique_ptr<StopWatch> watch;  ///< null if nothing may cancel it
};

/// Thread rule: one thread at a time; calls to Surroundings come on it.
class Router {
 public:
  /// What a router needs of its node.
  class Surroundings {
   public:
    virtual ~Surroundings() = default;
    virtual void transmit(const NodeName& to, Frames frames) = 0;
    /// A message for an actor of this node; `expects_answer` if it is a request.
    virtual void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint> due) = 0;
    /// An answer for which nobody waits any more; what it carries must be released.
    virtual void came_late(const NodeLife& from, msg::AnyMessage answer) = 0;
    /// An answer that cannot travel; what it hands out must be taken back.
    virtual void not_sent(const msg::AnyMessage& answer) = 0;
    virtual void peer_up(const Peer& peer) = 0;
    virtual void peer_down(const Peer& peer, const Error& why) = 0;
    /// The connection to `peer` must be given up; it is told why.
    virtual void give_up(const NodeName& peer, const Farewell& farewell) = 0;
    /// So many requests wait for an answer now. Told before the answer that changed it is handed on.
    virtual void pending_changed(std::size_t requests) = 0;
    virtual void warn(std::string text) = 0;
    /// Nobody waits for the answer to `request`: call cancel() soon, not from here. On any thread.
    virtual void cancel_soon(RequestId request) = 0;
  };

  /// `checksum`: what the links do not guard.
  /// `lives`: hears of each end of a life before anybody else does.
  Router(Peer self, Surroundings& surroundings, Lives& lives, msg::Checksum checksum = msg::Checksum::everything,
                  FailureDetectorOptions silence = {});

  void request(TimePoint now, Request request, AnswerHandler done);

  /// Ends a request with `cancelled`, if it still waits, and tells who works on it.
  void cancel(TimePoint now, RequestId request);

  /// To whichever life has the name now, or to `life` only.
  void notify(TimePoint now, const NodeName& to, std::optional<Incarnation> life, std::string actor, msg::AnyMessage message);

  /// Only the life that asked gets the answer: its successor may wait for another answer under the same number.
  void answer(TimePoint now, const NodeLife& to, RequestId request, msg::AnyMessage message);

  void link_up(TimePoint now, const Peer& peer);
  void link_down(TimePoint now, const NodeName& peer, Incarnation incarnation, const Error& why);
  void frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames);

  /// The link's judgement of a peer's silence. A peer that is down is lost and told that it is dead.
  void reach(TimePoint now, const NodeName& peer, Incarnation incarnation, Reach change, Duration silence);

  /// Resends, acknowledges, expires and beats what is due.
  void tick(TimePoint now);

  /// When tick has something to do; nothing: not before something else happens.
  [[nodiscard]] std::optional<TimePoint> next_due();

  /// Says goodbye to all peers and fails everything that waits with `why`; later requests fail at once.
  void stop(TimePoint now, const Error& why);

  [[nodiscard]] std::size_t pending_requests() const { return calls_.size(); }

  /// The `count` requests that have waited longest, the oldest first.
  [[nodiscard]] std::vector<PendingCall> oldest(std::size_t count) const { return calls_.oldest(count); }

 private:
  struct PeerState {
    Peer peer;
    std::unique_ptr<Session> session;
    bool unreachable = false;
  };

  void put_on_link(TimePoint now, const NodeName& to, std::vector<Frames> messages);
  void dispatch(TimePoint now, const Peer& from, msg::Decoded decoded);
  void complete(TimePoint now, RequestId request, const NodeLife& from, msg::AnyMessage message);
  void lose(TimePoint now, const NodeName& name, const Error& why);
  [[nodiscard]] Error refusal(const NodeName& to, const std::string& operation) const;
  [[nodiscard]] Farewell you_are_dead(const Error& why) const;
  [[nodiscard]] Error of_another_life(const Request& request) const;

  const Peer self_;
  Surroundings& surroundings_;
  Lives& lives_;
  const msg::Checksum checksum_;
  std::map<NodeName, PeerState> peers_;
  CallTable<WaitingRequest> calls_;
  FailureDetector detector_;
  std::optional<TimePoint> detector_due_;
  std::optional<Error> stopped_;
};

}  // namespace troupe::detail
