// Decides from silence alone which peers are unreachable and which are down.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "messages/ids.h"

namespace troupe {

struct FailureDetectorOptions {
  Duration heartbeat = std::chrono::milliseconds{100};
  Duration suspicion = std::chrono::milliseconds{300};
  Duration down = std::chrono::milliseconds{800};
  Duration slack = std::chrono::milliseconds{20};  ///< a tick later than this was our own stall, not the peers'
};

/// Watches peers by name and incarnation. A plain class: time comes in, verdicts go out.
///
/// Silence counts from the last `heard`. When `tick` itself comes late, this node was not running: the delay is taken
/// off every peer's silence and nobody is judged at that tick, so a starved node blames nobody (F17).
/// Thread rule: one thread at a time.
class FailureDetector {
 public:
  explicit FailureDetector(FailureDetectorOptions options = {}) : options_(options) {}

  enum class Change {
    unreachable,  ///< silent for `suspicion`
    reachable,    ///< heard again after that
    down,         ///< silent for `down`; no longer watched
  };

  struct Event {
    NodeName peer;
    Incarnation incarnation;
    Change change = Change::unreachable;
    Duration silence{0};
    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Begins to watch; silence counts from `now`. Another incarnation under the same name replaces the former.
  void watch(const NodeName& peer, Incarnation incarnation, TimePoint now);

  void forget(const NodeName& peer);

  /// Anything authenticated came from the peer. Ignored when it is not watched, or in another incarnation.
  [[nodiscard]] std::optional<Event> heard(const NodeName& peer, Incarnation incarnation, TimePoint now);

  /// Something was sent to the peer: its next heartbeat is due one period later.
  void sent(const NodeName& peer, TimePoint now);

  struct Verdicts {
    std::vector<Event> events;
    std::vector<NodeName> heartbeats;  ///< peers to send one to now; counts as `sent`
    std::optional<TimePoint> next;     ///< when to call again; none: nobody is watched
  };

  [[nodiscard]] Verdicts tick(TimePoint now);

  [[nodiscard]] std::size_t watched() const { return peers_.size(); }

 private:
  struct Watched {
    Incarnation incarnation;
    TimePoint heard;
    TimePoint sent;
    bool unreachable = false;
  };

  [[nodiscard]] bool forgive_own_stall(TimePoint now);

  const FailureDetectorOptions options_;
  std::map<NodeName, Watched> peers_;
  std::optional<TimePoint> next_;  ///< when the coming tick was asked for
};

}  // namespace troupe
