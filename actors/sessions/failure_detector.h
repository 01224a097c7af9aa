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

/// A lease that never ends: who has it, on either side of a pair, is not judged.
inline constexpr Duration kEndlessLease = Duration::max();

/// When silence means something, and how often a node is to be heard.
struct FailureDetectorOptions {
  // Between two heartbeats to one peer: so much for each peer, so that what a node sends in a second is bounded.
  Duration heartbeat_per_peer = std::chrono::milliseconds{10};
  Duration heartbeat_min = std::chrono::milliseconds{100};
  Duration heartbeat_max = std::chrono::seconds{1};
  std::size_t peers_min = 0;  ///< counted from the start, if so many will come: they do when everybody is busy
  Duration suspicion = std::chrono::milliseconds{200};  ///< silent for longer than it promised: unreachable
  Duration lease = std::chrono::seconds{10};            ///< silent for so long: down; a pair uses the longer of both
  Duration slack = std::chrono::milliseconds{20};       ///< a tick later than this was our own stall
};

/// Watches peers by name and incarnation. A plain class: time comes in, verdicts go out.
///
/// Heartbeats go out every interval, whatever else is sent. The interval grows with the number of peers, so it differs
/// between nodes while some of them join. Therefore each heartbeat promises when the next comes at the latest, and a
/// peer is judged by what it promised: it is unreachable after interval + suspicion and down after its lease. A
/// heartbeat also says for how long its sender has heard nothing in return, so both ends of a link that is cut one way
/// take each other for unreachable.
///
/// Silence is the time in which this node could have heard the peer (FD-4): of the time between two ticks no more counts
/// than was asked for, whenever the second one comes. A tick that comes late judges only what the tick before it knew,
/// so what waits to be read after a stall is read first; the next tick judges all. So ticks that are always late still
/// judge, and a starved node blames nobody (F17).
/// Thread rule: one thread at a time. Whoever ticks has read everything that had arrived by then.
class FailureDetector {
 public:
  explicit FailureDetector(FailureDetectorOptions options = {}) : options_(options) {}

  /// A peer that is down is no longer watched.
  struct Event {
    NodeName peer;
    Incarnation incarnation;
    Reach change = Reach::unreachable;
    Duration silence{0};
    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Begins to watch; silence counts from `now`, and a heartbeat is due at once. Another incarnation under the same name
  /// replaces the former. Until the peer promises something it has the longest interval. `lease`: the peer's own.
  void watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now);

  void forget(const NodeName& peer);

  /// What a heartbeat says.
  struct Said {
    Duration interval{0};  ///< the next comes within
    Duration deaf{0};      ///< its sender has heard nothing from us for so long; 0: it hears us
    friend bool operator==(const Said&, const Said&) = default;
  };

  /// The peer's heartbeat came. Ignored when it is not watched, or in another incarnation.
  [[nodiscard]] std::optional<Event> heard(const NodeName& peer, Incarnation incarnation, Said said, TimePoint now);

  /// One that is to be sent.
  struct Heartbeat {
    NodeName peer;
    Said said;
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
  };
  /// What follows from the time that has passed.
  struct Verdicts {
    std::vector<Event> events;
    std::vector<Heartbeat> heartbeats;  ///< to send now
    std::optional<TimePoint> next;      ///< when to call again; none: nobody is watched
  };

  [[nodiscard]] Verdicts tick(TimePoint now);

  [[nodiscard]] std::size_t watched() const { return peers_.size(); }

 private:
  struct Watched {
    Incarnation incarnation;
    Duration lease;
    TimePoint since;           // silence is counted up to here
    Duration silence{0};       // in which the peer could have been heard
    Duration interval;         // that the peer promised
    TimePoint sent;            // our last heartbeat to it
    Duration our_interval{0};  // that we promised it
    Duration deaf{0};          // as it said last
    bool unreachable = false;

    [[nodiscard]] TimePoint next_heartbeat() const { return sent + our_interval; }
    [[nodiscard]] bool judged() const { return lease != kEndlessLease; }
  };

  [[nodiscard]] Duration interval() const;
  [[nodiscard]] Duration unreachable_after(const Watched& watched) const { return watched.interval + options_.suspicion; }
  [[nodiscard]] Duration down_after(const Watched& watched) const;
  [[nodiscard]] TimePoint next_verdict(const Watched& watched, TimePoint now) const;
  [[nodiscard]] std::vector<Heartbeat> due_heartbeats(TimePoint now);
  void count_silence(Watched& watched, TimePoint now) const;

  const FailureDetectorOptions options_;
  std::map<NodeName, Watched> peers_;
  std::optional<TimePoint> next_;  ///< when the coming tick was asked for
};

}  // namespace troupe
