// The faults of a simulated world, and how often each occurred.
#pragma once

#include <chrono>
#include <cstdint>

#include "actors/clock.h"

namespace troupe::sim {

/// Faults of messages between nodes. The session above a link repairs all of them, at the cost of time.
struct LinkFaults {
  double drop = 0;                                     ///< probability that a message never arrives,
  double duplicate = 0;                                ///< arrives twice,
  double reorder = 0;                                  ///< or has no order relative to messages before and after it
  Duration delay_mean = std::chrono::milliseconds(1);  ///< delays are exponentially distributed
};

/// How peers learn of a death.
enum class Death : std::uint8_t {
  closed,  ///< its connections close, after the link's delay: its process ended
  silent,  ///< peers see silence only: its machine is gone
};

/// Counts since the world started. They are of data messages; heartbeats and acknowledgements suffer too.
struct WorldCounts {
  std::uint64_t steps = 0;
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;    ///< arrived after one that was sent later
  std::uint64_t lost = 0;         ///< in transit when their connection ended
  std::uint64_t killed = 0;       ///< nodes
  std::uint64_t unwound = 0;      ///< functions that waited on a node when it was killed
  std::uint64_t actors_left = 0;  ///< actors of killed nodes that are still referenced: 0, or a leak
};

}  // namespace troupe::sim
