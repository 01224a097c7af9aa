// One lane of a session as its sender sees it: what waits to leave, what has left and is not acknowledged, what is sent
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/sessions/parcel.h"
#include "actors/sessions/session_header.h"
#include "messages/ids.h"

namespace troupe {

inline constexpr std::size_t kAheadBits = 64;  ///< packets beyond the first missing one that an acknowledgement tells apart

struct OutLaneOptions {
  Duration resend_first = std::chrono::milliseconds{200};
  Duration resend_max = std::chrono::seconds{2};
  double resend_growth = 1.5;
  std::size_t window_messages = 4096;        ///< packets that left and are not acknowledged
  std::size_t window_bytes = 4 << 20;        ///< likewise, in bytes; one larger packet leaves when nothing else is under way
  std::size_t resend_bytes_max = 256 << 10;  ///< with more than this in flight the peer is asked before anything is resent
};

/// A message that a session took and the peer has not acknowledged whole.
struct Outgoing {
  Parcel parcel;
  Charge charge = Charge::none;
  bool is_answer = false;
  std::size_t lane = 0;          ///< where it travels
  RequestId request;             ///< of a call
  std::optional<TimePoint> due;  ///< when its sender stops waiting
  std::string order_key;         ///< "": needs no order
  std::uint64_t after = 0;       ///< see SessionHeader
  bool keeps_order = false;      ///< `after` is to be set when it begins to leave
  bool admitted = false;         ///< of a call: counted against what the peer grants
  std::size_t left = 0;          ///< pieces that were put on the link
  bool taken_back = false;       ///< what has not left does not leave

  [[nodiscard]] bool left_whole() const { return left == parcel.pieces.size(); }
};
using SharedOutgoing = std::shared_ptr<Outgoing>;

/// Thread rule: one thread at a time.
///
/// Loss: after resend_first, growing by resend_growth, unacknowledged packets are sent again. With much in flight silence
/// usually means a slow link, so only a probe is sent: behind the data on the same connection, its answer says what was lost.
class OutLane {
 public:
  /// `grants`: bytes leave as far as the peer allows.
  OutLane(SessionLane lane, const OutLaneOptions& options, bool grants) : lane_(lane), options_(options), grants_(grants) {}

  /// Puts a packet on the link: the fields of `header` that are the lane's are filled in.
  using Emit = std::function<void(const SessionHeader& header, const Frames& frames)>;

  void push(SharedOutgoing message) { queue_.push_back(std::move(message)); }

  struct Step {
    bool sent = false;
    SharedOutgoing ended;  ///< the message whose last packet it was; null: none
  };
  /// Sends one packet, if one may leave.
  Step send_one(TimePoint now, const Emit& emit);

  /// The message that leaves next; null: none.
  [[nodiscard]] Outgoing* front();

  /// Asks the peer what has arrived and what it grants.
  void ask(const Emit& emit);

  /// Returns the messages that the peer has now, in order.
  [[nodiscard]] std::vector<SharedOutgoing> acknowledge(std::uint64_t ack, std::uint64_t ahead);

  /// What the peer allows, since the session began. An older, smaller number changes nothing.
  void grant(std::uint64_t bytes);

  /// The answer to a probe has come: what left before it and is still missing was lost.
  void resend_lost(TimePoint now, std::uint64_t answered_probe, const Emit& emit);

  /// Sends again, or asks, what is due.
  void tick(TimePoint now, const Emit& emit);

  /// No later than when `tick` has something to do; O(1). Nothing: nothing waits.
  [[nodiscard]] std::optional<TimePoint> next_due() const { return due_; }

  /// Ends the lane and returns what the peer has not acknowledged, in order.
  [[nodiscard]] std::vector<SharedOutgoing> close();

  [[nodiscard]] std::uint64_t last_sent() const { return first_ + in_flight_.size() - 1; }
  /// The number of the last packet once all that was pushed has left.
  [[nodiscard]] std::uint64_t last_to_send() const;
  [[nodiscard]] std::size_t in_flight_bytes() const { return in_flight_bytes_; }
  [[nodiscard]] std::uint64_t probes() const { return probes_; }
  [[nodiscard]] std::uint64_t resent() const { return resent_; }
  [[nodiscard]] bool empty() const { return queue_.empty() && in_flight_.empty(); }
  [[nodiscard]] bool waits_for_grant() const;

 private:
  struct InFlight {
    SharedOutgoing message;
    SessionHeader header;  ///< as it left
    Frames frames;
    std::size_t bytes = 0;
    bool ends = false;  ///< the last packet of its message
    TimePoint due{};    ///< when it is sent again
    Duration interval{0};
    std::uint64_t probes_before = 0;  ///< probes sent before its last transmission
    bool arrived = false;             ///< the peer holds it, out of order
  };

  void skip_taken_back();
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
  std::deque<SharedOutgoing> queue_;  ///< not whole on the link yet
  std::deque<InFlight> in_flight_;    ///< in_flight_[i] is packet first_ + i
  std::uint64_t first_ = 1;
  std::size_t in_flight_bytes_ = 0;   ///< left and not known to have arrived
  std::uint64_t bytes_sent_ = 0;      ///< of messages, each once
  std::uint64_t bytes_granted_ = 0;
  std::uint64_t probes_ = 0;
  std::uint64_t resent_ = 0;
  std::optional<TimePoint> due_;      ///< no later than the first due time of a packet, or of the next question
  Duration asking_{0};                ///< how long until a grant is asked for again; 0: it is not waited for
  TimePoint ask_at_;
};

}  // namespace troupe
