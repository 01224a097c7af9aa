// The events of all nodes, put together. Plain rules.
#pragma once

#include <vector>

#include "actors/profile/profile.h"
#include "actors/profile/recording.h"

namespace troupe::detail {

/// What one node recorded. Its clock is `ahead` of the profiler's.
struct EventsOfNode {
  NodeName node;
  Duration ahead{};
  std::vector<RecordedEvent> events;
};

/// Returns all events with times since `begin`, a time of the profiler's node, and with the calls that led to them, in
/// the order of their begins. Leaves out what cannot be true.
[[nodiscard]] std::vector<ProfileEvent> joined(const std::vector<EventsOfNode>& nodes, TimePoint begin);

}  // namespace troupe::detail
