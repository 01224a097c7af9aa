// One connection that this node makes: to one address, authenticated by the handshake, in two lanes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "actors/clock.h"
#include "actors/link.h"
#include "actors/sessions/ring_queue.h"
#include "node/links/handshake.h"
#include "node/links/on_this_host.h"
#include "node/links/ready_set.h"
#include "node/links/zmq_link_parts.h"
#include "node/links/zmq_link_socket.h"

namespace troupe {

/// Attempts of one connection that were refused in a row, or accepted and closed before a handshake of ZeroMQ ended.
class Refusals {
 public:
  /// Returns for how long attempts have been refused by now. More than `gap_max` after the last refusal a row begins
  /// anew: that attempt was not refused at once.
  [[nodiscard]] Duration take(TimePoint now, Duration gap_max) {
    if (!last_ || now - *last_ > gap_max) first_ = now;
    last_ = now;
    return now - first_;
  }
  /// An attempt succeeded.
  void end() { last_.reset(); }

 private:
  TimePoint first_;
  std::optional<TimePoint> last_;
};

/// Every attempt uses fresh sockets, so that nothing of an earlier one is mistaken for an answer. It begins when the
/// parts' `attempts` give it a place. Used by the link's thread only.
///
///   opening --welcome--> welcomed --cut, or the peer does not know us any more--> opening ...
///      |                    |
///      | refused for good,  | cut, and no process
///      | or no process      | listens any more
///      v listens            v
///    Failed               Lost
class ZmqOutgoing {
 public:
  /// `key` is reported by the parts' ready set when `work` has something to do. With keys, `name` is that of the node
  /// there, which needs its key; without, it may be empty.
  ZmqOutgoing(ZmqLinkParts& parts, std::string address, NodeName name, ReadySet::Key key, TimePoint now);
  /// `on_this_host`: of the address. For tests of other hosts.
  ZmqOutgoing(ZmqLinkParts& parts, std::string address, NodeName name, ReadySet::Key key, TimePoint now,
              OnThisHost on_this_host);

  struct Welcomed {
    Authenticated session;
  };
  struct Lost {
    Error why;
  };
  struct Failed {
    Error why;
  };
  using Happened = std::variant<Welcomed, Lost, Failed>;

  /// The peer waits for this connection: its attempts do not wait for those to others.
  void hurry();

  /// Keys have changed: begins anew with those that the ring has now. The peer stays up if this ends within its lease.
  void use_new_keys(TimePoint now) { open(now); }

  /// Connects once more, because another node claims to be at this address now: the node that answers is at the
  /// address. Does nothing while an attempt is under way, and within a second of the last call.
  void ask_again(TimePoint now);

  /// Begins the attempt that waited for a place. REQUIRES: the parts' `attempts` have just admitted it.
  void begin(TimePoint now);

  /// Does all that can be done now. Returns an event for the link; call again until it returns nullopt.
  [[nodiscard]] std::optional<Happened> work(TimePoint now);

  /// Sends one packet, or queues it while the connection cannot take it. REQUIRES: `work` is called before waiting.
  void send(LinkLane lane, Frames packet);

  /// Another node answers than the one to which the queued packets were sent: they are dropped.
  void forget_backlog() {
    for (Backlog& backlog : backlogs_) {
      backlog.packets.clear();
      backlog.bytes = 0;
    }
  }

  /// Tells the peer that this node closes the connection on purpose, with the reason.
  void say_bye(const Farewell& farewell);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const NodeName& name() const { return name_; }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] bool is_asking() const { return asking_; }  ///< since `ask_again`, and neither answered nor refused
  [[nodiscard]] bool welcomed() const { return welcomed_; }

  /// Returns when `work` is next needed without an event. Changes in `work` only.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

 private:
  using Clue = std::optional<Happened>;

  void open(TimePoint now);
  [[nodiscard]] Result<ZmqSocket> open_socket(ZmqSocket::Kind kind) const;
  void reopen_soon(TimePoint now);
  [[nodiscard]] Clue take_events(TimePoint now);
  [[nodiscard]] Clue take_denial(TimePoint now, ZmqSocket::Event event);
  [[nodiscard]] Clue take_early_end(TimePoint now);
  [[nodiscard]] Clue take_answers(TimePoint now);
  [[nodiscard]] Clue take_answer(TimePoint now, const Frames& message);
  [[nodiscard]] Clue take_refusal(TimePoint now, Error why);
  [[nodiscard]] Clue check_time(TimePoint now);
  [[nodiscard]] Lost not_again() const;
  [[nodiscard]] std::string_view what_it_did() const;
  void forget_broken_off() {
    broken_off_since_.reset();
    broken_off_count_ = 0;
  }
  void welcome(const Authenticated& session);
  void flush();
  void open_bulk();
  [[nodiscard]] ZmqSocket& socket_of(LinkLane lane) { return lane == LinkLane::bulk && bulk_ ? *bulk_ : *express_; }
  [[nodiscard]] bool put(ZmqSocket& lane, const Frames& frames);
  [[nodiscard]] Error about(ErrorCode code, std::string message) const;

  ZmqLinkParts& parts_;
  const std::string address_;
  const NodeName name_;
  const ReadySet::Key key_;
  OnThisHost on_this_host_;

  std::optional<ZmqSocket> express_;
  std::optional<ZmqSocket> bulk_;  ///< once welcomed and wanted; without it the express lane carries all
  bool bulk_wanted_ = false;       ///< on this attempt or an earlier one
  std::optional<HandshakeClient> handshake_;
  std::optional<Frames> words_;  ///< messages of the handshake, not yet taken by the socket
  Frame envelope_;               ///< first frame of every message, once welcomed
  Frame bulk_envelope_;          ///< the same on the separate connection

  bool answers_ = false;  ///< the peer has connected to this node
  bool connected_ = false;
  bool welcomed_ = false;
  bool asking_ = false;                        ///< see is_asking
  std::optional<TimePoint> asked_at_;          ///< see ask_again
  std::optional<TimePoint> began_;             ///< when the first attempt had a place
  bool refused_ = false;                       ///< at the last attempt no process listened
  std::optional<TimePoint> broken_off_since_;  ///< handshakes of ZeroMQ have failed since then, and none succeeded
  int broken_off_count_ = 0;                   ///< of these
  std::optional<Peer> peer_;                   ///< the peer that it reached, once welcomed
  TimePoint opened_;                           ///< when the current attempt started
  TimePoint answer_by_;                        ///< else the current attempt is repeated
  std::optional<TimePoint> reopen_at_;
  Duration reconnect_patience_{0};       ///< once welcomed: the lease of the pair; connect_patience if it is endless
  bool waits_for_refusals_ = false;      ///< once welcomed: for so long attempts must be refused
  Refusals refusals_;                    ///< since the peer was welcomed
  std::optional<TimePoint> give_up_at_;  ///< unless welcomed; null until `begin`, and if it waits for refusals
  std::optional<Error> last_refusal_;    ///< the reason of the present retry

  struct Backlog {
    RingQueue<Frames> packets;  ///< in order, not yet taken by the socket
    std::size_t bytes = 0;
  };
  [[nodiscard]] Backlog& backlog_of(LinkLane lane) { return backlogs_[lane == LinkLane::bulk ? 1 : 0]; }
  std::array<Backlog, 2> backlogs_;
};

}  // namespace troupe
