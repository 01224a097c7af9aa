// Reliable, ordered, exactly-once delivery between two incarnations over a link that may lose, repeat or reorder.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "actors/session_header.h"
#include "messages/error.h"

namespace troupe {

struct SessionOptions {
  Duration resend_first = std::chrono::milliseconds{200};
  Duration resend_max = std::chrono::seconds{2};
  double resend_growth = 1.5;
  Duration ack_delay = std::chrono::milliseconds{20};
  std::size_t ack_messages = 32;           ///< acknowledged at once after so many messages,
  std::size_t ack_bytes = 64 << 10;        ///< or so many bytes: the sender's memory is held until then
  std::size_t window_messages = 4096;      ///< sent and not acknowledged; also bounds the receiver's reorder buffer
  std::size_t queue_bytes_max = 64 << 20;  ///< accepted and not acknowledged; one larger message is taken when empty
  std::size_t resend_bytes_max = 256 << 10;  ///< with more than this in flight the peer is asked before anything is resent
};

/// Counts since the session began, for tests and debug info.
struct SessionCounts {
  std::uint64_t accepted = 0;    ///< messages taken by send
  std::uint64_t resent = 0;      ///< transmissions after the first
  std::uint64_t probes = 0;
  std::uint64_t delivered = 0;
  std::uint64_t duplicates = 0;  ///< arrived again and were ignored
  std::uint64_t refused = 0;     ///< bytes that were not a message of this session
  std::uint64_t overflow = 0;    ///< beyond the reorder buffer and ignored: the peer resends
  friend bool operator==(const SessionCounts&, const SessionCounts&) = default;
};

/// One side of the conversation between this incarnation and one incarnation of a peer.
///
/// A plain class: it starts nothing, reads no clock and touches no link; time comes in and messages go out as values.
/// The caller puts every returned message on the link, in order. Thread rule: one thread at a time.
///
/// Invariants (SE-n):
///  1. what `receive` delivers is a prefix of what the peer's `send` accepted, in order, each once;
///  2. a message's frames are held until it is acknowledged, and not longer;
///  3. bytes from another incarnation, or that are no session message, change nothing;
///  4. memory is bounded: queue_bytes_max for sending and as much for reordering, one larger message aside.
///
/// Loss: after resend_first, growing by resend_growth, unacknowledged messages are sent again. With much in flight
/// silence usually means a slow link, so only a probe is sent: behind the data on the same lane, its answer says what
/// was lost.
class Session {
 public:
  Session(Incarnation self, Incarnation peer, SessionOptions options = {});

  enum class Admission {
    bounded,  ///< refused with resource_exhausted when the queue is full
    always,   ///< replies, acknowledgements and deletes: refusing them would lose what the queue is for
  };

  struct Sent {
    std::uint64_t number = 0;     ///< names the message in `close`
    std::vector<Frames> on_link;  ///< empty when the window is full: it leaves with a later acknowledgement
  };

  /// Takes one message. Errors: resource_exhausted (nothing was taken), shutting_down after `close`.
  [[nodiscard]] Result<Sent> send(TimePoint now, Frames body, Admission admission = Admission::bounded);

  struct Received {
    std::vector<Frames> delivered;  ///< in order, session header removed
    std::vector<Frames> on_link;
    std::optional<Duration> promised;  ///< the peer will be heard again within that time
    bool goodbye = false;  ///< the peer said that nothing follows, and everything before has been delivered
  };

  /// Takes one message from the link. Errors, after which the session is as before: `decode`, `version_mismatch`,
  /// `peer_restarted` (from or for another incarnation), `protocol_violation` (acknowledges what was never sent, ...).
  [[nodiscard]] Result<Received> receive(TimePoint now, Frames message);

  struct Due {
    std::vector<Frames> on_link;
    std::optional<TimePoint> next;  ///< when to call again at the latest; none: nothing is waiting
  };

  /// Sends what is due: acknowledgements, resends, probes.
  [[nodiscard]] Due tick(TimePoint now);

  /// When `tick` has something to do.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// Promises the peer that it will hear again from us within `interval`, in whole milliseconds.
  [[nodiscard]] Frames heartbeat(Duration interval);
  [[nodiscard]] Frames goodbye();

  struct Unacknowledged {
    std::uint64_t number = 0;
    Frames body;
    bool left = false;  ///< was put on the link at least once; otherwise the peer has certainly not seen it
  };

  /// Ends the session and returns what was never acknowledged, in order.
  [[nodiscard]] std::vector<Unacknowledged> close();

  [[nodiscard]] const SessionCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t pending_messages() const { return pending_.size(); }
  [[nodiscard]] std::size_t pending_bytes() const { return pending_bytes_; }
  [[nodiscard]] std::size_t reordering_messages() const { return early_.size(); }

 private:
  struct Pending {
    Frames body;
    std::size_t bytes = 0;            ///< with its header
    TimePoint due;                    ///< when it is sent again; meaningful once it left
    Duration interval{0};
    std::uint64_t probes_before = 0;  ///< probes sent before its last transmission
    bool left = false;
    bool arrived = false;  ///< the peer holds it, out of order
  };

  [[nodiscard]] Frames message(SessionKind kind, std::uint64_t number);
  [[nodiscard]] Frames probe();
  [[nodiscard]] Frames transmit(TimePoint now, std::size_t index);
  void fill_window(TimePoint now, std::vector<Frames>& on_link);
  void resend_lost(TimePoint now, std::uint64_t answered_probe, std::vector<Frames>& on_link);
  void resend_due(TimePoint now, std::vector<Frames>& on_link);
  [[nodiscard]] std::optional<Error> refusal(const SessionHeader& header, std::size_t frames) const;
  void take_acknowledgement(const SessionHeader& header);
  void take_data(TimePoint now, std::uint64_t number, Frames body, std::vector<Frames>& delivered);
  void deliver(TimePoint now, Frames body, std::vector<Frames>& delivered);
  [[nodiscard]] std::uint64_t ahead_bits() const;
  [[nodiscard]] std::size_t reach() const;

  const Incarnation self_;
  const Incarnation peer_;
  const SessionOptions options_;
  bool closed_ = false;
  SessionCounts counts_;

  // Sending: pending_[i] is message number first_ + i; those before pending_[in_window_] have left.
  std::deque<Pending> pending_;
  std::uint64_t first_ = 1;
  std::size_t in_window_ = 0;
  std::size_t pending_bytes_ = 0;
  std::size_t in_flight_bytes_ = 0;  // left and not known to have arrived

  // Receiving: delivered_ is the last number delivered in order.
  std::uint64_t delivered_ = 0;
  std::map<std::uint64_t, Frames> early_;
  std::size_t early_bytes_ = 0;
  std::size_t unacked_messages_ = 0;
  std::size_t unacked_bytes_ = 0;
  std::optional<TimePoint> ack_due_;
  std::optional<std::uint64_t> goodbye_after_;
  bool goodbye_told_ = false;
};

}  // namespace troupe
