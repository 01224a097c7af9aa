// The sending side of one lane: the queue of messages, the packets that are sent and not acknowledged, and their
// resending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/sessions/parcel.h"
#include "actors/sessions/ring_queue.h"
#include "actors/sessions/session_header.h"
#include "messages/ids.h"

namespace troupe {

inline constexpr std::size_t kAheadBits = 64;  ///< packets beyond the first missing one that an ack reports

struct OutLaneOptions {
  Duration resend_first = std::chrono::milliseconds{200};
  Duration resend_max = std::chrono::seconds{2};
  double resend_growth = 1.5;
  std::size_t window_messages = 4096;      ///< packets sent and not acknowledged
  std::size_t window_bytes = 4 << 20;      ///< the same in bytes; one larger packet may be in flight alone
  std::size_t resend_bytes_max = 4 << 10;  ///< with more than this in flight, a probe precedes any resend
  std::size_t riders_max = 64;             ///< messages that share the packet of another one, at most 255
};

/// A message that a session accepted and the peer has not fully acknowledged.
struct Outgoing {
  Parcel parcel;
  Charge charge = Charge::none;
  bool is_answer = false;
  std::size_t lane = 0;          ///< the lane in which it travels
  RequestId request;             ///< of a call; of an answer: the one of the peer that it answers
  std::optional<TimePoint> due;  ///< its sender's deadline
  std::string order_key;         ///< "": needs no order
  std::uint64_t after = 0;       ///< see SessionHeader
  /// For a large message: the small message of its key that precedes it, whose `place` it waits for. Null: there is
  /// none, or `after` is set.
  std::shared_ptr<const Outgoing> follows;
  /// The number of its last packet. If it was taken back before any packet left: the number of the packet before its
  /// turn.
  std::optional<std::uint64_t> place;
  bool admitted = false;    ///< of a call: counted against the peer's grant
  std::size_t left = 0;     ///< number of pieces put on the link
  bool taken_back = false;  ///< true: unsent pieces are not sent
  /// Of an answer of which not all has left: see Posting.
  std::function<void()> undo;

  [[nodiscard]] bool left_whole() const { return left == parcel.pieces.size(); }
};
using SharedOutgoing = std::shared_ptr<Outgoing>;

/// Thread rule: one thread at a time.
///
/// Loss: unacknowledged packets are sent again after resend_first, which grows by resend_growth. With more in flight
/// than a few small packets, silence usually means a slow link, where copies would queue behind the originals: only a
/// probe is sent. It follows the data on the same connection, and its answer says what was lost.
class OutLane {
 public:
  /// `grants`: bytes are sent only as far as the peer allows.
  OutLane(SessionLane lane, const OutLaneOptions& options, bool grants)
      : lane_(lane), options_(options), grants_(grants) {}

  /// Puts a packet on the link. The lane fills in its own fields of `header`.
  using Emit = std::function<void(const SessionHeader& header, const Frames& frames)>;

  void push(SharedOutgoing message) { queue_.push_back(std::move(message)); }

  /// A message was taken back before a part of it left. Such messages leave the queue even if its front never moves, so
  /// that it has at most 64, or twice as many as were not taken back. Those with an order key keep their place.
  void drop_taken_back();

  /// A message that travels in the packet of the next whole one, before it. REQUIRES: may_ride(rider), fewer than
  /// riders_max wait, and the queue is empty.
  void ride(Parcel rider) { riders_.push_back(std::move(rider)); }
  [[nodiscard]] static bool may_ride(const Parcel& rider);
  [[nodiscard]] std::size_t riders() const { return riders_.size(); }
  /// Takes the last rider back, to be pushed as the message that the others ride on. REQUIRES: there is one.
  [[nodiscard]] Parcel take_rider();

  struct Step {
    bool sent = false;
    SharedOutgoing ended;  ///< the message whose last packet was sent; null: none
  };
  /// Sends one packet, if one may be sent.
  Step send_one(TimePoint now, const Emit& emit);

  /// Returns whether no message waits to be sent, or to be sent to its end.
  [[nodiscard]] bool is_queue_empty() const { return queue_.empty(); }

  /// Returns the message to be sent next; null: none.
  [[nodiscard]] Outgoing* front();

  /// Asks the peer which packets have arrived and what it grants.
  void ask(const Emit& emit);

  /// Calls `arrived` for each message that the peer now has, in order. REQUIRES: it does not use the lane.
  void acknowledge(std::uint64_t ack, std::uint64_t ahead, const std::function<void(const Outgoing&)>& arrived);

  /// Sets the bytes that the peer allows since the session started. An older, smaller number changes nothing.
  void grant(std::uint64_t bytes);

  /// The answer to a probe arrived: packets sent before the probe and still missing were lost.
  void resend_lost(TimePoint now, std::uint64_t answered_probe, const Emit& emit);

  /// Resends, or probes for, what is due.
  void tick(TimePoint now, const Emit& emit);

  /// Returns a time no later than the next need for `tick`; nullopt: nothing is pending. O(1).
  [[nodiscard]] std::optional<TimePoint> next_due() const { return due_; }

  /// Ends the lane and returns the unacknowledged messages, in order.
  [[nodiscard]] std::vector<SharedOutgoing> close();

  [[nodiscard]] std::uint64_t last_sent() const { return first_ + in_flight_.size() - 1; }
  /// Returns the number of the last packet, once all queued messages are sent.
  [[nodiscard]] std::uint64_t last_to_send() const;
  [[nodiscard]] std::uint64_t probes() const { return probes_; }
  [[nodiscard]] std::uint64_t resent() const { return resent_; }
  [[nodiscard]] bool empty() const { return queue_.empty() && in_flight_.empty() && riders_.empty(); }
  [[nodiscard]] bool waits_for_grant() const;

 private:
  struct InFlight {
    SharedOutgoing message;
    SessionHeader header;  ///< as sent
    Frames frames;
    std::size_t bytes = 0;
    bool ends = false;  ///< the last packet of its message
    TimePoint due{};    ///< when it is sent again
    Duration interval{0};
    std::uint64_t probes_before = 0;  ///< probes sent before its last transmission
    bool arrived = false;             ///< the peer holds it, out of order
  };

  void skip_taken_back();
  void board(InFlight& packet, const Piece& piece);
  [[nodiscard]] bool may_leave(const Outgoing& message, const Piece* piece) const;
  void transmit(TimePoint now, InFlight& packet, const Emit& emit);
  void send_again(TimePoint now, InFlight& packet, const Emit& emit);
  void no_longer_in_flight(const InFlight& packet);
  [[nodiscard]] Duration grown(Duration interval) const;
  [[nodiscard]] std::size_t reach() const;
  void no_later_than(TimePoint due);

  const SessionLane lane_;
  const OutLaneOptions& options_;
  const bool grants_;
  RingQueue<SharedOutgoing> queue_;  ///< not fully on the link yet
  std::size_t drop_at_ = 64;         ///< drop_taken_back() looks through a queue of this size
  std::vector<Parcel> riders_;       ///< wait for the next whole message
  RingQueue<InFlight> in_flight_;    ///< in_flight_[i] is packet first_ + i
  std::uint64_t first_ = 1;
  std::size_t in_flight_bytes_ = 0;  ///< sent, arrival unknown
  std::uint64_t bytes_sent_ = 0;     ///< of messages, each counted once
  std::uint64_t bytes_granted_ = 0;
  std::uint64_t probes_ = 0;
  std::uint64_t resent_ = 0;
  std::optional<TimePoint> due_;  ///< no later than the due time of the first packet or of the next probe
  Duration asking_{0};            ///< until the grant is requested again; 0: no grant is awaited
  TimePoint ask_at_;
};

}  // namespace troupe
