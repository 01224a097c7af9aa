// Reliable, exactly-once delivery between two incarnations over a link that may lose, repeat, reorder or damage
// packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "actors/sessions/assembly.h"
#include "actors/sessions/call_credit.h"
#include "actors/sessions/in_lane.h"
#include "actors/sessions/out_lane.h"
#include "actors/sessions/parcel.h"
#include "actors/sessions/ring_queue.h"
#include "actors/sessions/session_header.h"
#include "messages/error.h"

namespace troupe {

/// The bounds on one peer's messages that a node has received and not yet handled.
struct SessionGrants {
  std::uint64_t calls = 1024;  ///< calls that have not started
  std::uint64_t nested = 256;  ///< the same, made inside served functions
  /// Bytes of large messages, by lane: of unstarted calls, and of answers and control messages being received. A larger
  /// message is granted when it is alone. Express: unused; the window and the calls bound small messages.
  std::array<std::uint64_t, kSessionLanes> bytes{0, 64 << 20, 32 << 20, 64 << 20, 64 << 20};
};

struct SessionOptions {
  InLaneOptions in = {};
  OutLaneOptions out = {};
  AssemblyLimits assembly = {};
  SessionGrants grants = {};
  /// What both sides assume before the peer's first grants. REQUIRES: `grants` is not below it.
  SessionGrants first_grants{.calls = 64, .nested = 16, .bytes = {0, 1 << 20, 1 << 20, 1 << 20, 1 << 20}};
  std::size_t waiting_calls_max = 200'000;               ///< unsent calls to this peer
  std::size_t waiting_bytes_max = std::size_t{1} << 30;  ///< the same in bytes; one larger call is accepted beside them
};

/// Counts since the session started, for tests and debug info.
struct SessionCounts {
  std::uint64_t accepted = 0;  ///< messages accepted by send
  std::uint64_t resent = 0;    ///< transmissions after the first
  std::uint64_t probes = 0;
  std::uint64_t delivered = 0;
  std::uint64_t duplicates = 0;  ///< packets that arrived again and were ignored
  std::uint64_t refused = 0;     ///< what the link delivered and is no packet of this session; ignored
  std::uint64_t overflow = 0;    ///< packets beyond the reorder buffer, ignored: the peer resends
  friend bool operator==(const SessionCounts&, const SessionCounts&) = default;
};

/// How a session treats a message.
struct Posting {
  enum class Class : std::uint8_t {
    word,         ///< a control message: never refused; the messages that it answers bound it
    call,         ///< waits for the peer's grant
    nested_call,  ///< as call, made inside a served function
    answer,       ///< needs no grant of calls
    free_call,    ///< of a raw port: needs no grant of calls, and can be taken back
  };
  Class of = Class::word;
  RequestId request{};             ///< of a call, or what an answer answers: names it for take_back and close
  std::optional<TimePoint> due{};  ///< its sender's deadline; the remaining time is written when it is sent
  /// Messages of one key are delivered in the order of `send`, whatever their size. REQUIRES: calls share it with calls
  /// only.
  std::string order_key{};
  std::function<void()> undo{};  ///< of an answer: what its sender does if it is taken back; may be empty
};

/// One side of the conversation between this incarnation and one incarnation of a peer.
///
/// A plain class: it starts nothing, reads no clock and touches no link; times go in and packets come out as values.
/// The caller puts every returned packet on the link, in order. Thread rule: one thread at a time.
///
/// The SE rules of PROTOCOLS.md, and:
///  - a message's frames are held until it is acknowledged, and not longer;
///  - bytes of another incarnation, or that are no packet, change nothing;
///  - receive memory is bounded: the grants, one larger message per lane granted alone, and early packets;
///  - a message waits for earlier ones of its key, also in other lanes.
class Session {
 public:
  /// `grants_changed` is called, on any thread, when calls have started and the peer should get new grants: call
  /// `grant` soon.
  Session(
      Incarnation self, Incarnation peer, SessionOptions options = {}, std::function<void()> grants_changed = [] {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct Packet {
    LinkLane lane = LinkLane::express;
    Frames frames;
  };
  using Packets = std::vector<Packet>;

  /// Accepts one message. Errors: resource_exhausted for a call beyond the bounds (not accepted), shutting_down after
  /// `close`.
  [[nodiscard]] Result<Packets> send(TimePoint now, Parcel parcel, Posting posting = {});

  /// As `send`, for a control message that is not urgent: it shares the packet of the next small message to the peer,
  /// or is sent like an acknowledgement, after `in.ack_delay`. It is delivered in the order of `send` and `ride`.
  [[nodiscard]] Result<Packets> ride(TimePoint now, Parcel parcel);

  /// Returns whether the peer has acknowledged all small messages.
  [[nodiscard]] bool is_express_idle() const { return out_.front().empty(); }

  /// Sends the messages that wait for one to ride on.
  [[nodiscard]] Packets send_riders(TimePoint now);

  struct TakenBack {
    bool in_time = false;  ///< true: the peer will never have all of it
    bool granted = false;  ///< true: it waited for the connection, not for the peer to start earlier calls
    Packets on_link;
    std::function<void()> undo = {};  ///< of an answer, to be called; may be empty
  };
  /// Returns whether `send` took a call with that id, which the peer has not acknowledged whole.
  [[nodiscard]] bool has(RequestId request) const { return calls_.contains(request.value); }
  /// Takes a call back whose answer is no longer needed.
  [[nodiscard]] TakenBack take_back(TimePoint now, RequestId request);
  /// Takes the answer to a request of the peer back, if not all of it has left.
  [[nodiscard]] TakenBack take_back_answer(TimePoint now, RequestId request);

  struct Delivered {
    Frames frames;
    std::optional<TimePoint> due;  ///< its sender's deadline
    Charge charge = Charge::none;
    std::uint64_t bytes = 0;  ///< its part of the lane's grant; for CallCredit
  };
  struct Received {
    std::vector<Delivered> delivered;  ///< in the order in which they may be handled
    std::vector<Frame> no_memory_for;  ///< frame 0 of messages that will not be delivered
    std::vector<Frame> taken_back;     ///< frame 0 of those that are no calls and that the peer took back
    Packets on_link;
    bool goodbye = false;  ///< the peer sends nothing more, and all earlier messages are delivered
  };

  /// Takes one packet from the link. Errors: `decode`, `version_mismatch`, `peer_restarted` (from or for another
  /// incarnation) leave the session unchanged; after `protocol_violation` or `too_large`, from a peer that broke the
  /// protocol, the session is unusable.
  [[nodiscard]] Result<Received> receive(TimePoint now, Frames packet);

  /// Sends the peer its present grants; delivers nothing.
  [[nodiscard]] Received grant();

  /// Sends what is due: acknowledgements, resends, probes.
  [[nodiscard]] Packets tick(TimePoint now);

  /// Returns a time no later than the next need for `tick`. O(1).
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// Takes back a result that was handled, so that later ones need no new memory.
  void reuse(Received used);
  void reuse(Packets used);

  /// Returns the packet that tells the peer that this side sends nothing more. Throws std::bad_alloc.
  [[nodiscard]] Packet goodbye();

  struct Unacknowledged {
    RequestId request;
    bool left = false;  ///< all of it was put on the link; false: the peer certainly does not have it
  };

  /// Ends the session and returns the unacknowledged calls.
  [[nodiscard]] std::vector<Unacknowledged> close();

  /// Returns what the peer's calls hold on this node.
  [[nodiscard]] const std::shared_ptr<CreditAccount>& account() const { return account_; }

  [[nodiscard]] SessionCounts counts() const;
  [[nodiscard]] std::size_t waiting_calls() const { return waiting_calls_; }
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_bytes_; }
  /// Returns the number of calls of the peer that have arrived, even in part, since the session started.
  [[nodiscard]] std::uint64_t received_calls() const { return sides_[0].received + sides_[1].received; }
  /// Returns the answers that the peer has not acknowledged.
  [[nodiscard]] const AnswerTotals& answers() const { return answers_; }
  /// Returns true if everything sent has arrived.
  [[nodiscard]] bool flushed() const;
  [[nodiscard]] std::size_t early_packets() const;

 private:
  /// The receiving state of one lane.
  struct Incoming {
    explicit Incoming(const InLaneOptions& options) : lane(options) {}
    InLane lane;
    std::optional<Assembly> assembly;                     ///< of the message being received
    Delivered message;                                    ///< its description; `bytes` counts those that have arrived
    std::uint64_t after = 0;                              ///< of that message
    bool thrown_away = false;                             ///< true: there was no memory for it
    RingQueue<std::pair<std::uint64_t, Delivered>> held;  ///< complete; each waits for a number of the express lane
    std::uint64_t received = 0;                           ///< bytes of messages
    std::uint64_t used_up = 0;   ///< of them, bytes that hold no memory here any more; calls: see the account
    std::uint64_t extended = 0;  ///< granted for one large message
    std::uint64_t told = 0;      ///< the grant last sent to the peer
    std::optional<std::uint64_t> goodbye;
  };
  /// The unacknowledged messages of one order key.
  struct Key {
    std::size_t waiting = 0;       ///< number of messages waiting for the peer's grant of calls
    Charge charge = Charge::none;  ///< the grant that they need
    std::size_t bulk = 0;
    SessionLane lane = SessionLane::calls;  ///< of its large messages
    std::size_t express = 0;
    SharedOutgoing last_express;  ///< of its small messages, the one that was accepted last; null: none
  };
  struct CallSide {
    RingQueue<SharedOutgoing> waiting;
    std::size_t taken_back = 0;  ///< of these: they are removed when they are half of them
    std::uint64_t sent = 0;
    std::uint64_t granted = 0;  ///< by the peer
    std::uint64_t received = 0;
    std::uint64_t told = 0;  ///< the grant last sent to the peer
  };

  [[nodiscard]] OutLane::Emit emit_into(Packets& packets);
  void emit(Packets& packets, SessionHeader header, const Frames& frames);
  [[nodiscard]] std::size_t lane_to_acknowledge() const;
  void acknowledge(Packets& packets, std::size_t lane, std::uint64_t answered_probe);

  void admit();
  void leave_waiting(CallSide& side, const Outgoing& message);
  void enqueue(SharedOutgoing message);
  void send_riders(TimePoint now, Packets& packets);
  void schedule_riders(TimePoint now);
  void fill(TimePoint now, Packets& packets);
  void ended(const SharedOutgoing& message);
  void count_waiting(const Outgoing& call);
  void count_left(const Outgoing& call);
  void arrived(const Outgoing& message);
  void forget_key(const std::string& key);
  void ask_for_calls(TimePoint now, Packets& packets);

  [[nodiscard]] std::optional<Error> refusal(const SessionHeader& header, const Frames& packet) const;
  void take_acknowledgement(const SessionHeader& header);
  [[nodiscard]] Result<Unit> take(TimePoint now, std::size_t lane, InLane::Packet packet, Received& out);
  [[nodiscard]] Result<Unit> begin(TimePoint now, std::size_t lane, const SessionHeader& header);
  [[nodiscard]] Result<Unit> count_whole(std::size_t lane, const InLane::Packet& packet);
  [[nodiscard]] Result<Unit> take_first(std::size_t lane, InLane::Packet& packet, Received& out);
  [[nodiscard]] Result<Unit> take_bytes(std::size_t lane, InLane::Packet& packet, Received& out);
  void throw_away(std::size_t lane, Received& out);
  [[nodiscard]] std::uint64_t missing(std::size_t lane) const;
  void take_dropped(TimePoint now, std::size_t lane, Received& out);
  void discard(std::size_t lane);
  void deliver_riders(const SessionHeader& header, Frames& frames, Received& out);
  void complete(std::size_t lane, Frames frames, Received& out);
  void deliver(std::size_t lane, Delivered message, Received& out);
  [[nodiscard]] bool holds_too_many(std::size_t lane, std::uint64_t number) const;
  void release_held(std::uint64_t express, Received& out);
  void use_up(std::size_t lane, const Delivered& message);
  void extend(std::size_t lane, Received& out);

  [[nodiscard]] std::uint64_t used_up(std::size_t lane) const;
  [[nodiscard]] std::uint64_t bytes_grant(std::size_t lane) const;
  [[nodiscard]] std::uint64_t calls_grant(Charge charge) const;
  [[nodiscard]] bool waits_for_word(std::size_t lane) const;
  void wish_to_be_told();

  [[nodiscard]] CallSide& side(Charge charge) { return sides_[charge == Charge::nested ? 1 : 0]; }
  [[nodiscard]] const CallSide& side(Charge charge) const { return sides_[charge == Charge::nested ? 1 : 0]; }

  const Incarnation self_;
  const Incarnation peer_;
  const SessionOptions options_;
  const std::shared_ptr<CreditAccount> account_;
  bool closed_ = false;
  bool goodbye_told_ = false;
  std::uint64_t accepted_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t overflow_ = 0;

  std::vector<OutLane> out_;           ///< by lane
  std::vector<Incoming> in_;           ///< by lane
  std::vector<InLane::Packet> ready_;  ///< memory of receive(); else empty
  Received spare_;                     ///< memory of the next result; empty
  std::array<CallSide, 2> sides_;
  std::unordered_map<std::uint64_t, SharedOutgoing> calls_;  ///< by request; until acknowledged or taken back
  /// Those that did not leave at once, by the peer's request; until all of it has left or it is taken back.
  std::unordered_map<std::uint64_t, SharedOutgoing> answers_to_send_;
  std::unordered_map<std::string, Key> keys_;
  std::size_t waiting_calls_ = 0;  ///< calls not fully sent
  std::size_t waiting_bytes_ = 0;
  bool huge_waiting_ = false;  ///< one call is larger than the bound and waits
  AnswerTotals answers_;
  std::optional<TimePoint> ride_by_;  ///< when riders are sent alone; nullopt: none, or they wait for a queued message
  Duration asking_{0};                ///< until the grant of calls is requested again; 0: none is awaited
  TimePoint ask_at_;
};

}  // namespace troupe
