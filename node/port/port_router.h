// The destination and the end of each raw call. A plain class, as the router of typed calls is; port_core.cc runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/call_table.h"
#include "actors/sessions/session.h"
#include "messages/ids.h"
#include "node/port.h"
#include "node/port/ending.h"
#include "node/port/port_wire.h"

namespace troupe::port {

/// A call made through this port.
struct Call {
  NodeName peer;
  std::uint64_t tag = 0;
  Body body;
  TimePoint started;
  std::optional<TimePoint> due;
  std::shared_ptr<Ending> ending;
};

/// A received request, and the destination of its answer.
struct Request {
  NodeLife from;
  RequestId id;
  std::uint64_t tag = 0;
  Body body;
  std::optional<TimePoint> due = {};  ///< its caller's deadline
};

/// Keeps the sessions with all peers and every call until it ends: by its answer, its deadline, its peer's end or this
/// port's. A call waits while its peer is being connected to. A peer is
///
///   connecting --up--> up --down, silent, goodbye--> lost          and from everywhere, by `remove`: removed
///       |                                             ^  |
///       +--------------no connection------------------+  +--`connect`--> connecting, for a new life only
///
/// `connect` with another address than that of the life that is up seeks a new life there. Calls made meanwhile wait:
/// for the new life, which ends the old one, or, if none comes up, for the old one. If the old one ends first, the peer
/// is connecting again. A new life of a name may also connect by itself. Lives that ended stay out, as far as they are
/// known: of peers that are lost or removed the last kGoneMax. A member that throws for lack of memory may have dropped
/// calls, which their endings tell on this thread: the caller ends the others by end_calls. Thread rule: one thread at
/// a time; it also calls the Callbacks. REQUIRES: no callback calls back.
class Router {
 public:
  /// The most peers remembered that are lost or removed. Who has been so for longest is as one never connected.
  static constexpr std::size_t kGoneMax = 1024;

  class Callbacks {
   public:
    virtual ~Callbacks() = default;
    virtual void connect(const std::string& address) = 0;
    /// Ends in connect_failed with code `cancelled`, unless the attempt has ended.
    virtual void stop_connecting(const std::string& address) = 0;
    virtual void disconnect(const NodeName& peer, const Farewell& farewell) = 0;
    virtual void transmit(const NodeName& to, LinkLane lane, Frames packet) = 0;
    virtual void serve(Request request) = 0;
    /// Ends `ending` with the rest, and sees to it that it is told.
    virtual void end(std::shared_ptr<Ending> ending, Port::Outcome outcome, Body body, std::string why) noexcept = 0;
    virtual void warn(const std::string& line) = 0;
  };

  Router(Peer self, Duration connect_patience, Callbacks& callbacks, Packing packing = {});

  void connect(TimePoint now, const NodeName& name, const std::string& address);
  void remove(const NodeName& name);
  void call(TimePoint now, Call call);
  /// `body`: nullopt if the request was dropped.
  void answer(TimePoint now, const NodeLife& to, RequestId request, std::optional<Body> body);
  void set_fault(std::uint64_t tag, Port::Fault fault) { faults_.insert_or_assign(tag, fault); }

  void link_up(TimePoint now, const Peer& peer);
  void link_down(const NodeName& peer, Incarnation incarnation, const Error& why);
  /// The link considers that life of the peer dead.
  void silent(const NodeName& peer, Incarnation incarnation, Duration silence);
  void connect_failed(TimePoint now, std::string_view address, const Error& why);
  void frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames);

  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_due();

  /// Ends all calls as stopped, later ones too; accepts no new peers. Answers are still sent. Needs no memory.
  void end_calls() noexcept;

  /// Returns whether every peer that is up has received all that was sent to it.
  [[nodiscard]] bool flushed() const;

  /// Sends a goodbye to all peers and drops unacknowledged messages.
  void close();

 private:
  enum class Phase { connecting, up, lost, removed };

  struct PeerState {
    Phase phase = Phase::lost;
    std::string address;               ///< up: where the peer says it listens
    std::string sought;                ///< where an attempt goes on; not empty if connecting, may be so if up
    TimePoint give_up_at;              ///< of that attempt
    std::vector<RequestId> waiting;    ///< during that attempt: in order; ended ones are skipped
    std::string unwanted;              ///< removed: a new arrival may come from the attempt at this address
    Incarnation life;                  ///< up
    std::unique_ptr<Session> session;  ///< up
    std::deque<Incarnation> ended;     ///< former lives, the latest kEndedLivesMax
    std::string why;                   ///< lost or removed
    std::uint64_t gone = 0;            ///< lost or removed: its place in gone_
  };

  /// `call` has its body until it is sent.
  using Calls = CallTable<Call>;
  static constexpr std::size_t kEndedLivesMax = 64;

  void is_not_gone(PeerState& peer) { gone_.erase(std::exchange(peer.gone, 0)); }
  [[nodiscard]] RequestId keep(Call call, Incarnation life);
  [[nodiscard]] std::string refusal(const NodeName& peer) const;
  [[nodiscard]] bool fail_on_purpose(TimePoint now, Call& call);
  void route(TimePoint now, Call call);
  void send(TimePoint now, PeerState& peer, Call call);
  void put_on_link(const NodeName& to, Session::Packets packets);
  void take(const NodeLife& from, Message message, std::optional<TimePoint> due);
  void complete(const NodeLife& from, RequestId request, std::optional<Body> body);
  void send_waiting(TimePoint now, PeerState& peer);
  void end_attempt(TimePoint now, const NodeName& name, const std::string& why);
  void end_attempt_at_tenant(TimePoint now, const NodeName& asked, const NodeName& found);
  void lose_life(const NodeName& name, std::string why);
  void lose(const NodeName& name, Phase phase, std::string why);
  Incarnation end_session(PeerState& peer);
  void expire_calls(TimePoint now);
  void take_back(TimePoint now, const Calls::Call& call);
  void give_up_connecting(TimePoint now);
  void end(Call call, Port::Outcome outcome, std::string why) {
    callbacks_.end(std::move(call.ending), outcome, {}, std::move(why));
  }

  const Peer self_;
  const Duration connect_patience_;
  Callbacks& callbacks_;
  const Packing packing_;
  bool stopped_ = false;
  std::map<NodeName, PeerState> peers_;
  std::map<std::uint64_t, NodeName> gone_;  ///< those that are lost or removed, in the order in which they became so
  std::uint64_t last_gone_ = 0;
  Calls calls_;  ///< unsent calls: under their peer's name, without incarnation
  std::multimap<TimePoint, RequestId> delayed_;
  std::map<std::uint64_t, Port::Fault> faults_;
};

}  // namespace troupe::port
