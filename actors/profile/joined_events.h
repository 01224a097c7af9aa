// The events of all nodes, put together. Plain rules.
#pragma once

#include <vector>

#include "actors/profile/profile.h"
#include "actors/profile/recording.h"

namespace troupe::detail {

/// What one node recorded. Its clock is `ahead` of the profiler's, give or take what is `unsure`.
struct EventsOfNode {
  NodeName node;
  Duration ahead{};
  std::vector<RecordedEvent> events;
  Duration unsure{};
};

/// Returns all events with times since `begin`, a time of the profiler's node, and with the calls that led to them, in
/// the order of their begins. Of calls that differ by their time only, the one during which an event began led to it,
/// as far as the clocks say. Leaves out what cannot be true.
[[nodiscard]] std::vector<ProfileEvent> joined(const std::vector<EventsOfNode>& nodes, TimePoint begin);

}  // namespace troupe::detail
