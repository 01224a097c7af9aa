#include "actors/profile/joined_events.h"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace troupe::detail {
namespace {

/// A day: no profile lasts as long, and no sum of such times is too large for a Duration.
constexpr std::int64_t kTimesMax = Duration(std::chrono::hours(24)).count();

/// The recorded calls, by where they were made.
class Calls {
 public:
  explicit Calls(const std::vector<EventsOfNode>& nodes) {
    for (const EventsOfNode& each : nodes) {
      for (const RecordedEvent& event : each.events) {
        if (event.kind == EventKind::call)
          calls_.try_emplace(Place{event.context, event.path, event.to, each.node}, &event);
      }
    }
  }

  /// Returns the names of the calls that led to what `event` is part of, on `node`, the outermost first.
  [[nodiscard]] std::string leading_to(const NodeName& node, const RecordedEvent& event) const {
    std::string names;
    std::vector<std::uint32_t> path = event.path;
    if (event.kind == EventKind::call && !path.empty()) path.pop_back();
    const NodeName* callee = &node;
    const NodeName* caller = &event.caller;
    const std::string* context = &event.context;
    while (!path.empty()) {
      const RecordedEvent* call = find(*context, path, *callee, *caller);
      if (call == nullptr) break;
      names = names.empty() ? call->name : call->name + "#" + names;
      callee = caller;
      caller = &call->caller;
      context = &call->context;
      path.pop_back();
    }
    return names;
  }

 private:
  struct Place {
    std::string context;
    std::vector<std::uint32_t> path;
    NodeName callee;
    NodeName caller;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  /// Returns the call with that path. A function that opens a context of its own was called in another one, or in none.
  [[nodiscard]] const RecordedEvent* find(const std::string& context, const std::vector<std::uint32_t>& path,
                                          const NodeName& callee, const NodeName& caller) const {
    const auto call = calls_.find({context, path, callee, caller});
    if (call != calls_.end()) return call->second;
    return context.empty() ? nullptr : find({}, path, callee, caller);
  }

  std::map<Place, const RecordedEvent*> calls_;
};

/// Returns whether the event may be shown: a node may not tell the truth.
bool is_plausible(const RecordedEvent& event, std::int64_t begin) {
  if (event.kind > EventKind::span || event.end < event.begin) return false;
  return begin >= -kTimesMax && event.end - event.begin <= kTimesMax && begin <= kTimesMax;
}

}  // namespace

std::vector<ProfileEvent> joined(const std::vector<EventsOfNode>& nodes, TimePoint begin) {
  const Calls calls(nodes);
  std::vector<ProfileEvent> all;
  for (const EventsOfNode& each : nodes) {
    const std::int64_t begin_there = (begin.time_since_epoch() + each.ahead).count();
    for (const RecordedEvent& event : each.events) {
      std::int64_t since = 0;
      std::int64_t length = 0;
      if (__builtin_sub_overflow(event.begin, begin_there, &since)) continue;
      if (__builtin_sub_overflow(event.end, event.begin, &length)) continue;
      if (!is_plausible(event, since)) continue;
      ProfileEvent& added = all.emplace_back();
      added.kind = event.kind;
      added.node = each.node;
      added.thread = event.thread;
      added.name = event.name;
      added.within = calls.leading_to(each.node, event);
      added.inputs = event.inputs;
      added.begin = Duration(since);
      added.length = Duration(length);
    }
  }
  std::ranges::stable_sort(all, {}, &ProfileEvent::begin);
  return all;
}

}  // namespace troupe::detail
