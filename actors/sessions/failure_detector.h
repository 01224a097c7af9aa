// Decides, from silence alone, which peers are unreachable and which are down.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "actors/sessions/silence_limits.h"
#include "messages/ids.h"

namespace troupe {

/// Watches peers by name and incarnation. A plain class: times go in, verdicts come out.
///
/// Heartbeats are sent every interval, whatever else is sent. The interval grows with the number of peers, so it
/// differs between nodes while some of them join. Therefore each heartbeat promises the latest time of the next one,
/// and a peer is judged by its own promise: it is unreachable after interval + suspicion, and down after its lease. A
/// heartbeat also says how long its sender has heard nothing in return, so both ends of a link that is cut in one
/// direction find each other unreachable.
///
/// Silence is time in which this node could have heard the peer (FD-4): between two ticks, at most the requested time
/// counts, however late the second one is. A late tick judges only by what the tick before it knew, so that messages
/// queued during a stall are read first; the next tick judges all. So ticks that are always late still judge, and a
/// starved node blames no peer (F17).
/// Thread rule: one thread at a time. REQUIRES: the caller of tick has read all messages that had arrived by then.
class FailureDetector {
 public:
  explicit FailureDetector(FailureDetectorOptions options = {});

  /// A verdict on a peer. A peer that is down is no longer watched.
  struct Event {
    NodeName peer;
    Incarnation incarnation;
    Reach change = Reach::unreachable;
    Duration silence{0};
    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Starts to watch. Silence counts from `now`, and a heartbeat is due at once. Another incarnation of the same name
  /// replaces the former. Until the peer's first promise the longest interval applies. `lease`: the peer's own.
  void watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now);

  void forget(const NodeName& peer);

  /// The contents of a heartbeat.
  struct Said {
    Duration interval{0};  ///< the next heartbeat follows within this time
    Duration deaf{0};      ///< its sender has heard nothing from the receiver for this long; 0: it hears the receiver
    friend bool operator==(const Said&, const Said&) = default;
  };

  /// A heartbeat of the peer arrived. Ignored if the peer is not watched, or in another incarnation.
  [[nodiscard]] std::optional<Event> heard(const NodeName& peer, Incarnation incarnation, Said said, TimePoint now);

  /// A heartbeat to send.
  struct Heartbeat {
    NodeName peer;
    Said said;
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
  };
  /// The consequences of the time that has passed.
  struct Verdicts {
    std::vector<Event> events;
    std::vector<Heartbeat> heartbeats;  ///< to send now
    std::optional<TimePoint> next;      ///< when to call again; nullopt: no peer is watched
  };

  [[nodiscard]] Verdicts tick(TimePoint now);

  [[nodiscard]] std::size_t watched() const { return peers_.size(); }

 private:
  struct Watched {
    Incarnation incarnation;
    Duration lease;
    TimePoint since;           // silence is counted up to this time
    Duration silence{0};       // time in which the peer could have been heard but was not
    Duration interval;         // promised by the peer
    TimePoint sent;            // when this node last sent it a heartbeat
    Duration our_interval{0};  // promised to the peer
    Duration deaf{0};          // as in its last heartbeat
    bool unreachable = false;

    [[nodiscard]] TimePoint next_heartbeat() const { return sent + our_interval; }
    [[nodiscard]] bool judged() const { return lease != kEndlessLease; }
  };

  [[nodiscard]] Duration interval() const;
  [[nodiscard]] Duration unreachable_after(const Watched& watched) const {
    return watched.interval + options_.suspicion;
  }
  [[nodiscard]] Duration down_after(const Watched& watched) const;
  [[nodiscard]] TimePoint next_verdict(const Watched& watched, TimePoint now) const;
  [[nodiscard]] std::vector<Heartbeat> due_heartbeats(TimePoint now);
  void count_silence(Watched& watched, TimePoint now) const;

  const FailureDetectorOptions options_;
  std::map<NodeName, Watched> peers_;
  std::optional<TimePoint> next_;  ///< the requested time of the next tick
};

}  // namespace troupe
