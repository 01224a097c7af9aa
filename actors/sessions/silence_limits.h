// The limits of a peer's silence.
#pragma once

#include <chrono>
#include <cstddef>

#include "actors/clock.h"

namespace troupe {

/// A lease without end: its owner, on either side of a pair, is never judged.
inline constexpr Duration kEndlessLease = Duration::max();

/// The limits of a peer's silence, and the rate of heartbeats.
struct FailureDetectorOptions {
  // The interval between two heartbeats to one peer is this times the number of peers: it bounds a node's heartbeats
  // per second.
  Duration heartbeat_per_peer = std::chrono::milliseconds{10};
  Duration heartbeat_min = std::chrono::milliseconds{100};
  Duration heartbeat_max = std::chrono::seconds{1};
  std::size_t peers_min = 0;  ///< the expected number of peers, counted from the start: they join while all are busy
  Duration suspicion = std::chrono::milliseconds{200};  ///< unreachable: silent for this long beyond its promise
  Duration lease = std::chrono::seconds{10};            ///< down: silent for this long; a pair uses the longer of both
  Duration slack = std::chrono::milliseconds{20};       ///< a tick later than this means that this node stalled
};

/// Returns the limits between machines: with up to 20 peers one is unreachable within a second all the same, but three
/// datagrams in a row may be lost, or the network stand still for half a second (a route changes, a queue fills up).
/// One node's limits need not be another's: a peer is judged by the interval that it promises, and both ends are as
/// impatient as one.
inline FailureDetectorOptions silence_between_machines() {
  FailureDetectorOptions options;
  options.heartbeat_min = std::chrono::milliseconds{200};
  options.suspicion = std::chrono::milliseconds{800};
  return options;
}

}  // namespace troupe
