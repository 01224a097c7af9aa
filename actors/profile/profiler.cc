#include "actors/profile/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "actors/profile/events.h"
#include "actors/profile/joined_events.h"
#include "actors/rref.h"

namespace troupe {
namespace {

using detail::EventsOfNode;
using detail::KeptRecording;
using detail::RecordedEvent;
using detail::RecordingOptions;

/// Returns a scope for the profiler's own calls: they belong to no autograd context and to no WaitAllScope, which would
/// share what becomes of the nodes that record.
Scope outside_of(const Scope& scope) {
  auto state = std::make_shared<detail::ScopeState>(scope.state());
  state->context.reset();
  state->open_calls.reset();
  return Scope(std::move(state));
}

/// Returns a scope like `scope` whose calls can be told from others.
Scope traced(const Scope& scope) {
  if (scope.trace() != 0) return scope;  // of a profiler around this one, or chosen by the user
  const detail::NodeCore& node = *scope.state().node;
  const std::uint64_t serial = scope.state().node->next_id<ForkId>().serial;
  const std::uint64_t trace = (node.incarnation().low ^ (serial * 0x9E3779B97F4A7C15U)) | 1U;  // another each time
  return scope.with({.trace = trace});
}

/// Throws std::invalid_argument: a node that records twice has each event twice.
void refuse_repeated(std::vector<NodeName> nodes) {
  std::ranges::sort(nodes);
  const auto twice = std::ranges::adjacent_find(nodes);
  if (twice != nodes.end()) throw std::invalid_argument(fmt::format("[Profiler] nodes names {} twice", *twice));
}

}  // namespace

struct Profiler::Parts {
  struct Place {
    NodeName node;
    std::optional<RRef<KeptRecording>> recording;
    Duration ahead{};   // its clock, of this node's
    Duration unsure{};  // by how much that may be wrong
  };

  Scope outside;  // for the profiler's own calls
  TimePoint begin;
  std::uint64_t events_max = 0;
  std::vector<Place> places;
  std::map<NodeName, Error> missing;

  /// Calls `action(place)` for each node that records; one that fails is missing from then on.
  template <class Action>
  void for_each(const Action& action) {
    for (Place& place : places) {
      if (!place.recording) continue;
      try {
        action(place);
      } catch (const RemoteError& error) {
        missing.insert_or_assign(place.node, error.error());
        place.recording.reset();
      }
    }
  }

  /// Compares the clocks. Of three answers, the quickest says it best. Source: the on-wire protocol of NTP (RFC 5905).
  void compare_clock(Place& place) const {
    const detail::NodeCore& node = *outside.state().node;
    if (place.node == node.name()) {  // one clock; but it must record by now
      static_cast<void>(place.recording->rpc_sync(outside, &KeptRecording::now));
      return;
    }
    Duration quickest = Duration::max();
    for (int i = 0; i < 3; ++i) {
      const TimePoint asked = node.clock().now();
      const Duration there(place.recording->rpc_sync(outside, &KeptRecording::now));
      const TimePoint answered = node.clock().now();
      // Beyond, differences of times would not be times: the node does not tell the truth.
      if (there < Duration() || there > Duration::max() / 4)
        throw RemoteError(node.error(ErrorCode::protocol_violation, place.node, "now of a profile",
                                     fmt::format("{} ns is no time", there.count())));
      if (answered - asked >= quickest) continue;
      quickest = answered - asked;
      place.unsure = quickest / 2;
      place.ahead = there - (asked.time_since_epoch() + place.unsure);
    }
  }

  /// Returns the events of a node that records no longer, at most `most`.
  [[nodiscard]] std::vector<RecordedEvent> events_of(const Place& place, std::uint64_t most) const {
    constexpr std::uint64_t kOfOneAnswer = 10'000;
    std::vector<RecordedEvent> all;
    std::uint64_t bytes = 0;
    while (all.size() < most) {
      std::vector<RecordedEvent> more = place.recording->rpc_sync(outside, &KeptRecording::take, kOfOneAnswer);
      if (more.empty()) break;
      more.resize(std::min<std::size_t>(more.size(), most - all.size()));
      for (const RecordedEvent& event : more) bytes += detail::bytes_of(event);
      if (bytes > detail::NodeRecording::kBytesMax)
        throw RemoteError(outside.state().node->error(ErrorCode::protocol_violation, place.node, "take of a profile",
                                                      fmt::format("{} bytes are more than a node records", bytes)));
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return all;
  }
};

Profiler::Profiler(const Scope& scope, ProfilerOptions options)
    : Scope(traced(scope)), parts_(std::make_unique<Parts>(Parts{outside_of(scope), {}, options.events_max, {}, {}})) {
  const detail::NodeCore& node = *scope.state().node;
  if (options.nodes.empty()) {
    for (const Peer& member : node.membership().members()) options.nodes.push_back(member.name);
  }
  refuse_repeated(options.nodes);
  const RecordingOptions wanted{trace(), options.everything, options.inputs, options.events_max};
  for (const NodeName& name : options.nodes)
    parts_->places.push_back({name, parts_->outside.remote(name, &detail::begin_recording, wanted)});
  parts_->for_each([this](Parts::Place& place) { parts_->compare_clock(place); });
  parts_->begin = node.clock().now();
}

Profiler::~Profiler() = default;

Profile Profiler::stop() {
  if (!parts_) throw std::logic_error("[Profiler] it was stopped before");
  const auto parts = std::exchange(parts_, nullptr);
  Profile profile;
  std::vector<EventsOfNode> nodes;
  parts->for_each([&](Parts::Place& place) {  // all at one time, before the first is read
    const std::uint64_t lost = place.recording->rpc_sync(parts->outside, &KeptRecording::end);
    if (lost > 0) profile.lost.emplace(place.node, lost);
  });
  parts->for_each([&](Parts::Place& place) {
    nodes.push_back({place.node, place.ahead, parts->events_of(place, parts->events_max), place.unsure});
  });
  profile.missing = std::move(parts->missing);
  profile.events = detail::joined(nodes, parts->begin);
  return profile;
}

struct ProfileSpan::Open {
  detail::OpenEvent event;
};

ProfileSpan::ProfileSpan(const Scope& scope, std::string_view name) {
  detail::OpenEvent event(scope.state(), EventKind::span, name);
  if (!event.is_recorded()) return;
  try {
    open_ = std::make_shared<Open>(Open{std::move(event)});
  } catch (const std::bad_alloc&) {  // the program goes on without its span
    scope.state().node->recordings().lose();
  }
}

ProfileSpan::~ProfileSpan() { end(); }

void ProfileSpan::end() noexcept {
  if (const auto open = std::exchange(open_, nullptr)) open->event.end();
}

void ProfileSpan::end_when_done(detail::FutureCore& future) {
  if (!open_) return;
  try {
    future.hold_until_done(open_);
    open_.reset();
  } catch (const std::bad_alloc&) {  // it ends with this object
  }
}

ProfiledThread::ProfiledThread(const Scope& scope) : thread_(scope.state()) {}
ProfiledThread::~ProfiledThread() = default;

namespace detail {

KeptRecording::KeptRecording(const std::shared_ptr<NodeCore>& node, const RecordingOptions& options) {
  const auto recording = std::make_shared<NodeRecording>(options);
  node->recordings().add(recording);
  try {
    // Kept by the node, too, and by functions that run: its end takes it from there.
    recording_ =
        std::shared_ptr<NodeRecording>(recording.get(), [weak = node->weak_from_this(), recording](NodeRecording*) {
          if (const auto alive = weak.lock()) alive->recordings().remove(*recording);
          recording->forget();
        });
  } catch (const std::bad_alloc&) {
    node->recordings().remove(*recording);
    throw;
  }
}

std::int64_t KeptRecording::now(Scope& scope) const {
  return scope.state().node->clock().now().time_since_epoch().count();
}

std::uint64_t KeptRecording::end() const { return recording_->end(); }

std::vector<RecordedEvent> KeptRecording::take(std::uint64_t count) const { return recording_->take(count); }

KeptRecording begin_recording(Scope& scope, const RecordingOptions& options) { return {scope.state().node, options}; }

}  // namespace detail
}  // namespace troupe
