// Dispatches messages: to peers through sessions, to actors of this node, and answers to their requesters.
//
// A plain class; router_actor.cc runs it, one message at a time. It owns the sessions with all peers and the table of
// pending requests. Every request is answered exactly once: by its reply, its deadline, its cancellation, its peer's
// end, this node's end or, where the caller asked for that, its peer's silence (CT-1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "actors/core/lives.h"
#include "actors/core/request.h"
#include "actors/core/stop_watch.h"
#include "actors/link.h"
#include "actors/sessions/call_table.h"
#include "actors/sessions/peer_loads.h"
#include "actors/sessions/session.h"
#include "messages/codec.h"

namespace troupe::detail {

/// The receiver of a request's answer, and the tokens that cancel the request.
struct WaitingRequest {
  AnswerHandler done;
  std::unique_ptr<StopWatch> watch;  ///< null if no token can cancel it
  bool fails_if_unreachable = false;
  bool failure_as_message = false;
  bool is_call = false;       ///< its session, if it has one, keeps it until the peer has all of it
  bool is_delivered = false;  ///< of a call of this node to itself
};

/// A request ready to be sent.
struct PackedRequest {
  Request request;  ///< without its message if that is packed
  RequestId id;     ///< never used before
  Posting posting;
  std::optional<Parcel> parcel;  ///< nullopt if the request is to this node itself
};

/// An answer ready to be sent.
struct PackedAnswer {
  RequestId request;
  Parcel parcel;
  std::function<void()> undo = {};  ///< called, in the router's turn, if the answer is taken back; may be empty
};

struct RouterOptions {
  Packing packing = {};
  SessionOptions session = {};
};

/// Thread rule: one thread at a time; it also calls the Callbacks.
class Router {
 public:
  /// The services that a router needs from its node.
  class Callbacks {
   public:
    virtual ~Callbacks() = default;
    virtual void transmit(const NodeName& to, LinkLane lane, Frames packet) = 0;
    /// Delivers a message to an actor of this node. `credit`: what a call holds until it starts.
    virtual void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message,
                         std::optional<TimePoint> due, std::shared_ptr<CallCredit> credit) = 0;
    /// An answer arrived too late; what it carries must be released.
    virtual void came_late(const NodeLife& from, msg::AnyMessage answer) = 0;
    /// The request is refused unread: its sender must be notified.
    virtual void refuse_unread(const NodeLife& from, RequestId request, Error why) = 0;
    /// The peer has acknowledged the answers `taken`, or they were taken back.
    virtual void answers_taken(const NodeLife& by, const AnswerTotals& taken) = 0;
    /// The load of `peer` has changed with the last message.
    virtual void load_changed(const NodeName& peer, const PeerLoad& load) = 0;
    virtual void peer_up(const Peer& peer) = 0;
    virtual void peer_down(const Peer& peer, const Error& why) = 0;
    /// The connection to `peer` must be closed, with `farewell`.
    virtual void give_up(const NodeName& peer, const Farewell& farewell) = 0;
    /// The number of pending requests has changed. Called before the answer that changed it is delivered.
    virtual void pending_changed(std::size_t requests) = 0;
    virtual void warn(std::string text) = 0;
    /// The answer to `request` is no longer needed: call cancel() soon, but not inside this call. On any thread.
    virtual void cancel_soon(RequestId request) = 0;
    /// Returns a function to be called when calls of `peer` have started; it makes grant() run soon. It may be called
    /// on any thread at any time, even after the router is destroyed.
    virtual std::function<void()> grant_soon(const NodeLife& peer) = 0;
    /// There was no memory for a notification of `from`, which will not come again: what waits for it must fail, or the
    /// session with `from` must end.
    virtual void word_lost(const NodeLife& from, const msg::Outside& word, Error why) = 0;
  };

  /// `lives` is updated with each end of a life before any other part of the node learns of it.
  Router(Peer self, Callbacks& callbacks, Lives& lives, RouterOptions options = {});

  void request(TimePoint now, PackedRequest request, AnswerHandler done);

  /// The handling of `request` threw: fails the request with `why`. Returns false if it is not pending.
  bool refuse(TimePoint now, RequestId request, Error why);

  /// Ends a request with `cancelled`, if it is pending, and notifies its callee.
  void cancel(TimePoint now, RequestId request);

  /// Sends to the present life of the name, or to `life` only.
  void notify(TimePoint now, const NodeName& to, std::optional<Incarnation> life, Parcel parcel,
              Haste haste = Haste::at_once);

  void notify_self(const std::string& actor, msg::AnyMessage message);

  /// Sends only to the requesting life: its successor may await another answer under the same number.
  /// One that the requester no longer awaits is taken back, also while it is being sent (SE-14).
  void answer(TimePoint now, const NodeLife& to, PackedAnswer answer);

  /// Answers a request of this node to itself.
  void answer_self(TimePoint now, RequestId request, msg::AnyMessage message);

  /// Sends `peer` its grants, or applies them to this node's calls to itself.
  void grant(TimePoint now, const NodeLife& peer);

  void link_up(TimePoint now, const Peer& peer);
  void link_down(TimePoint now, const NodeName& peer, Incarnation incarnation, const Error& why);
  void frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames);

  /// The link's judgement of a peer's silence. The session with a peer that is down ends, and the peer is told so.
  void reach(TimePoint now, const NodeName& peer, Incarnation incarnation, Reach change, Duration silence);

  /// Sends what is due (resends, acknowledgements, heartbeats) and expires requests.
  void tick(TimePoint now);

  /// Returns when tick is next needed; nullopt: not before another event.
  [[nodiscard]] std::optional<TimePoint> next_due();

  /// Sends a goodbye to all peers and fails all pending requests with `why`; later requests fail at once.
  void stop(TimePoint now, const Error& why);

  [[nodiscard]] std::size_t pending_requests() const { return calls_.size(); }

  /// Returns the `count` oldest pending requests, the oldest first.
  [[nodiscard]] std::vector<PendingCall> oldest(std::size_t count) const { return calls_.oldest(count); }

 private:
  /// An answer leaves all the same if so many other requests are cancelled while it is encoded.
  static constexpr std::size_t kUnawaitedMax = 256;

  struct PeerState {
    Peer peer;
    std::unique_ptr<Session> session;
    std::optional<TimePoint> silent_since = {};  ///< set while it is unreachable
    std::optional<TimePoint> due{};              ///< its place in due_
    PeerLoad load = {};                          ///< as last reported to the callbacks
    std::uint64_t lies = 0;                      ///< messages refused because the peer may not send them
    std::vector<RequestId> unawaited = {};       ///< cancelled, and not answered then: the last kUnawaitedMax
  };
  /// Unstarted calls of this node to itself are bounded as those of a peer.
  struct SelfCalls {
    std::map<RequestId, Request> waiting;  ///< in the order in which they were made
    std::uint64_t sent = 0;
  };

  void say(TimePoint now, PeerState& peer, const std::string& actor, RequestId answers, const msg::AnyMessage& message);
  void request_self(TimePoint now, PackedRequest request);
  void admit_self(TimePoint now);
  void tell_load_of_self();
  [[nodiscard]] SelfCalls& self_calls(Charge charge) { return self_calls_[charge == Charge::nested ? 1 : 0]; }
  void put_on_link(PeerState& peer, Session::Packets packets);
  void schedule(PeerState& peer);
  void tell_load(PeerState& peer);
  void take(TimePoint now, PeerState& peer, Session::Received received);
  [[nodiscard]] bool open(TimePoint now, PeerState& peer, Session::Delivered message);
  void refuse_lie(TimePoint now, PeerState& peer, const msg::Envelope& envelope, const msg::MessageInfo& info,
                  const std::string& lie);
  void refuse_for_memory(TimePoint now, const PeerState& peer, const Frame& header);
  void take_answer_back(TimePoint now, PeerState& peer, RequestId request);
  void answer_was_taken_back(TimePoint now, const PeerState& peer, const Frame& header);
  std::optional<std::string> take_back(TimePoint now, const CallTable<WaitingRequest>::Call& call);
  void complete(TimePoint now, RequestId request, const NodeLife& from, msg::AnyMessage message);
  void lose(TimePoint now, const NodeName& name, const Error& why);
  [[nodiscard]] Error refusal(const NodeName& to, const std::string& operation) const;
  [[nodiscard]] std::string unheard_for(const PeerState& peer, TimePoint now) const;
  [[nodiscard]] std::string silence_of(const NodeName& peer, TimePoint now) const;
  void fail_those_that_do_not_wait(TimePoint now, const PeerState& peer);
  [[nodiscard]] Farewell you_are_dead(Incarnation life, const Error& why) const;
  [[nodiscard]] Error of_another_life(const Request& request) const;

  const Peer self_;
  Callbacks& callbacks_;
  Lives& lives_;
  const RouterOptions options_;
  std::map<NodeName, PeerState> peers_;
  std::set<std::pair<TimePoint, NodeName>> due_;  ///< when each session is next due
  const std::shared_ptr<CreditAccount> self_account_;
  std::array<SelfCalls, 2> self_calls_;
  PeerLoad self_load_;  // as last reported to the callbacks
  CallTable<WaitingRequest> calls_;
  std::optional<Error> stopped_;
};

}  // namespace troupe::detail
