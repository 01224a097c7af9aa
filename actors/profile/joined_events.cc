#include "actors/profile/joined_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace troupe::detail {
namespace {

/// A day: no profile lasts as long, and no sum of such times is too large for a Duration.
constexpr std::int64_t kTimesMax = Duration(std::chrono::hours(24)).count();

/// The most bytes that say which calls led to one event: a node could have each shown with any number of others.
constexpr std::size_t kWithinMax = 2048;

/// A plausible event, and when it was since the profile began, on the profiler's clock.
struct TimedEvent {
  const EventsOfNode* node;
  const RecordedEvent* event;
  std::int64_t begin;
  std::int64_t length;
  const TimedEvent* parent = nullptr;  // the call that led to it, if that is known
  [[nodiscard]] std::int64_t end() const { return begin + length; }
};

/// Returns whether the event may be shown: a node may not tell the truth.
bool is_plausible(const RecordedEvent& event, std::int64_t begin) {
  if (event.kind > EventKind::span || event.name.size() > kNameMax || event.end < event.begin) return false;
  return begin >= -kTimesMax && event.end - event.begin <= kTimesMax && begin <= kTimesMax;
}

/// Returns the events that may be shown, node by node.
std::vector<TimedEvent> plausible(const std::vector<EventsOfNode>& nodes, TimePoint begin) {
  std::vector<TimedEvent> events;
  for (const EventsOfNode& each : nodes) {
    const std::int64_t begin_there = (begin.time_since_epoch() + each.ahead).count();
    for (const RecordedEvent& event : each.events) {
      std::int64_t since = 0;
      std::int64_t length = 0;
      if (__builtin_sub_overflow(event.begin, begin_there, &since)) continue;
      if (__builtin_sub_overflow(event.end, event.begin, &length)) continue;
      if (is_plausible(event, since)) events.push_back({&each, &event, since, length});
    }
  }
  return events;
}

/// Returns how far two events of those nodes may be from what their times say, `since` the clocks were compared: those
/// of two hosts run at paces that differ by less than one in ten thousand.
std::int64_t tolerance(const EventsOfNode& a, const EventsOfNode& b, std::int64_t since) {
  return &a == &b ? 0 : (a.unsure + b.unsure).count() + std::abs(since) / 10'000;
}

/// The calls with one path, context, callee and caller: of several programs, there may be more than one.
class CallsOfPlace {
 public:
  /// REQUIRES: it begins after those before it, or with them.
  void add(const TimedEvent& call) {
    Upto next{call.begin, &call, std::numeric_limits<std::int64_t>::min()};
    if (!calls_.empty()) {
      const Upto& last = calls_.back();
      next.second_end = std::max(last.second_end, std::min(last.longest->end(), call.end()));
      if (last.longest->end() > call.end()) next.longest = last.longest;
    }
    calls_.push_back(next);
  }

  /// Returns the call during which the event began. If there is none, the only call that began before it: the function
  /// of a `remote` begins after the answer, and others may outlast theirs. Null if there is none, or several.
  [[nodiscard]] const TimedEvent* leading_to(const TimedEvent& event) const {
    const std::int64_t unsure = tolerance(*calls_.front().longest->node, *event.node, event.begin);
    const auto later = std::ranges::upper_bound(calls_, event.begin + unsure, {}, &Upto::begin);
    if (later == calls_.begin()) return nullptr;
    const Upto& before = *std::prev(later);
    if (before.second_end >= event.begin - unsure) return nullptr;
    const bool is_only = later == std::next(calls_.begin());
    return is_only || before.longest->end() >= event.begin - unsure ? before.longest : nullptr;
  }

 private:
  /// A call and those before it.
  struct Upto {
    std::int64_t begin;         // of the call
    const TimedEvent* longest;  // of them all, ends last
    std::int64_t second_end;    // of the others, the last end
  };

  std::vector<Upto> calls_;  // by begin
};

/// The recorded calls, by where they were made. An event costs one look-up, however deep it is: calls know their own.
class Calls {
 public:
  /// REQUIRES: `events` outlives the object, in place.
  explicit Calls(const std::vector<TimedEvent>& events) {
    std::vector<const TimedEvent*> calls;
    for (const TimedEvent& each : events) {
      if (each.event->kind == EventKind::call) calls.push_back(&each);
    }
    std::ranges::stable_sort(calls, {}, &TimedEvent::begin);
    for (const TimedEvent* each : calls) {
      const RecordedEvent& call = *each->event;
      calls_[Place{call.context, call.path, call.to, each->node->node}].add(*each);
    }
  }

  /// Returns the call that led to what the event is part of; null if none is known, or if it may be one of several.
  [[nodiscard]] const TimedEvent* parent_of(const TimedEvent& timed) const {
    const RecordedEvent& event = *timed.event;
    std::span<const std::uint32_t> path = event.path;
    if (event.kind == EventKind::call && !path.empty()) path = path.first(path.size() - 1);
    if (path.empty()) return nullptr;
    const Place place{event.context, path, timed.node->node, event.caller};
    const TimedEvent* const call = find(place, timed);
    if (call != nullptr || !is_of(event.context, timed.node->node)) return call;
    // A function that opens a context of its own was called in none.
    return find({{}, path, place.callee, place.caller}, timed);
  }

 private:
  struct Place {
    std::string_view context;
    std::span<const std::uint32_t> path;
    std::string_view callee;
    std::string_view caller;

    friend bool operator<(const Place& a, const Place& b) {
      const auto names = std::tie(a.context, a.callee, a.caller) <=> std::tie(b.context, b.callee, b.caller);
      if (names != 0) return names < 0;
      if (a.path.size() != b.path.size()) return a.path.size() < b.path.size();
      return std::ranges::lexicographical_compare(a.path, b.path);
    }
  };

  /// Returns whether the context "trainer.17" was opened by that node.
  static bool is_of(std::string_view context, std::string_view node) {
    return context.substr(0, std::min(context.rfind('.'), context.size())) == node;
  }

  [[nodiscard]] const TimedEvent* find(const Place& place, const TimedEvent& event) const {
    const auto calls = calls_.find(place);
    return calls == calls_.end() ? nullptr : calls->second.leading_to(event);
  }

  std::map<Place, CallsOfPlace> calls_;
};

/// Returns the names of the calls that led to the event, the outermost first. Of too many, those next to it.
std::string names_leading_to(const TimedEvent& event) {
  std::vector<std::string_view> names;  // the innermost first
  std::size_t size = 0;
  for (const TimedEvent* call = event.parent; call != nullptr; call = call->parent) {
    size += call->event->name.size() + 1;
    names.push_back(size > kWithinMax ? "..." : std::string_view(call->event->name));
    if (size > kWithinMax) break;
  }
  std::ranges::reverse(names);
  return fmt::format("{}", fmt::join(names, "#"));
}

}  // namespace

std::vector<ProfileEvent> joined(const std::vector<EventsOfNode>& nodes, TimePoint begin) {
  std::vector<TimedEvent> events = plausible(nodes, begin);
  const Calls calls(events);
  for (TimedEvent& each : events) each.parent = calls.parent_of(each);
  std::vector<ProfileEvent> all;
  all.reserve(events.size());
  for (const TimedEvent& each : events) {
    ProfileEvent& added = all.emplace_back();
    added.kind = each.event->kind;
    added.node = each.node->node;
    added.thread = each.event->thread;
    added.name = each.event->name;
    added.within = names_leading_to(each);
    added.inputs = each.event->inputs;
    added.begin = Duration(each.begin);
    added.length = Duration(each.length);
  }
  std::ranges::stable_sort(all, {}, &ProfileEvent::begin);
  return all;
}

}  // namespace troupe::detail
