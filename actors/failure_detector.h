// Decides from silence alone which peers are unreachable and which are down.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "messages/ids.h"

namespace troupe {

struct FailureDetectorOptions {
  // Between two heartbeats to one peer: so much for each peer, so that what a node sends in a second is bounded.
  Duration heartbeat_per_peer = std::chrono::milliseconds{10};
  Duration heartbeat_min = std::chrono::milliseconds{100};
  Duration heartbeat_max = std::chrono::seconds{1};
  std::size_t peers_min = 0;  ///< counted from the start, if so many will come: they do when everybody is busy
  // How long a peer may be silent beyond what it promised: it may be late, and one heartbeat may get lost.
  Duration late_suspicion = std::chrono::milliseconds{200};  ///< after one interval
  Duration late_down = std::chrono::milliseconds{600};       ///< after two
  Duration slack = std::chrono::milliseconds{20};  ///< a tick later than this was our own stall, not the peers'
};

/// Watches peers by name and incarnation. A plain class: time comes in, verdicts go out.
///
/// The interval between heartbeats grows with the number of peers, so it differs between nodes while some of them join.
/// Therefore each heartbeat promises when the next comes at the latest, and a peer is judged by what it promised: it is
/// unreachable after interval + 200 ms and down after 2 x interval + 600 ms of silence. With up to 10 peers that is 300
/// and 800 ms, with 63 peers 830 and 1860 ms, never more than 1.2 and 2.6 s.
///
/// Silence counts from the last `heard`. When `tick` itself comes late, this node was not running: the delay is taken
/// off every peer's silence and nobody is judged at that tick, so a starved node blames nobody (F17).
/// Thread rule: one thread at a time.
class FailureDetector {
 public:
  explicit FailureDetector(FailureDetectorOptions options = {}) : options_(options) {}

  /// One that is down is no longer watched.
  struct Event {
    NodeName peer;
    Incarnation incarnation;
    Reach change = Reach::unreachable;
    Duration silence{0};
    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Begins to watch; silence counts from `now`, and a heartbeat is due at once. Another incarnation under the same name
  /// replaces the former. Until the peer promises something it has the longest interval.
  void watch(const NodeName& peer, Incarnation incarnation, TimePoint now);

  void forget(const NodeName& peer);

  /// Anything authenticated came from the peer. Ignored when it is not watched, or in another incarnation.
  [[nodiscard]] std::optional<Event> heard(const NodeName& peer, Incarnation incarnation, TimePoint now);

  /// The peer's heartbeat says that it will be heard again within `interval`. Ignored likewise.
  void promised(const NodeName& peer, Incarnation incarnation, Duration interval);

  /// Something was sent to the peer: its next heartbeat is due one interval later.
  void sent(const NodeName& peer, TimePoint now);

  struct Heartbeat {
    NodeName peer;
    Duration interval{0};  ///< to promise
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
  };
  struct Verdicts {
    std::vector<Event> events;
    std::vector<Heartbeat> heartbeats;  ///< to send now; count as `sent`
    std::optional<TimePoint> next;     ///< when to call again; none: nobody is watched
  };

  [[nodiscard]] Verdicts tick(TimePoint now);

  [[nodiscard]] std::size_t watched() const { return peers_.size(); }

 private:
  struct Watched {
    Incarnation incarnation;
    TimePoint heard;
    TimePoint sent;
    Duration interval;        // that the peer promised
    Duration our_interval{0};  // that we promised it
    bool unreachable = false;

    [[nodiscard]] TimePoint next_heartbeat() const { return sent + our_interval; }
  };

  [[nodiscard]] Duration interval() const;
  [[nodiscard]] std::vector<Heartbeat> due_heartbeats(TimePoint now);
  [[nodiscard]] bool forgive_own_stall(TimePoint now);

  const FailureDetectorOptions options_;
  std::map<NodeName, Watched> peers_;
  std::optional<TimePoint> next_;  ///< when the coming tick was asked for
};

}  // namespace troupe
