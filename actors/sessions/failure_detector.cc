#include "actors/sessions/failure_detector.h"

#include <algorithm>

namespace troupe {

FailureDetector::FailureDetector(FailureDetectorOptions options) : options_(options) {}

void FailureDetector::watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now) {
  peers_.insert_or_assign(peer, Watched{.incarnation = incarnation,
                                        .lease = std::max(lease, options_.lease),
                                        .since = now,
                                        .interval = options_.heartbeat_max,
                                        .sent = now});
  next_ = next_ ? std::min(*next_, now) : now;
}

void FailureDetector::forget(const NodeName& peer) {
  peers_.erase(peer);
  if (peers_.empty()) next_.reset();
}

std::optional<FailureDetector::Event> FailureDetector::heard(const NodeName& peer, Incarnation incarnation, Said said,
                                                             TimePoint now) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.incarnation != incarnation) return std::nullopt;
  Watched& watched = found->second;
  count_silence(watched, now);
  const Duration silence = std::max({watched.silence, watched.deaf, said.deaf});
  watched.silence = Duration{0};
  watched.interval =
      std::clamp(said.interval, options_.heartbeat_min, std::max(options_.heartbeat_max, watched.lease / 2));
  watched.deaf = said.deaf;
  const bool unreachable = watched.judged() && said.deaf > Duration{0};
  if (watched.unreachable == unreachable) return std::nullopt;
  watched.unreachable = unreachable;
  return Event{.peer = peer,
               .incarnation = incarnation,
               .change = unreachable ? Reach::unreachable : Reach::reachable,
               .silence = silence};
}

FailureDetector::Verdicts FailureDetector::tick(TimePoint now) {
  const bool late = next_ && now > *next_ + options_.slack;
  Verdicts out;
  for (auto it = peers_.begin(); it != peers_.end();) {
    Watched& watched = it->second;
    const Duration known = watched.silence;
    count_silence(watched, now);
    const Duration judged = late ? known : watched.silence;
    if (watched.judged() && judged >= down_after(watched)) {
      out.events.push_back({it->first, watched.incarnation, Reach::down, watched.silence});
      it = peers_.erase(it);
      continue;
    }
    if (watched.judged() && judged >= unreachable_after(watched) && !watched.unreachable) {
      watched.unreachable = true;
      out.events.push_back({it->first, watched.incarnation, Reach::unreachable, watched.silence});
    }
    ++it;
  }
  out.heartbeats = due_heartbeats(now);
  next_.reset();
  for (const auto& [name, watched] : peers_) {
    const TimePoint due = std::min(watched.next_heartbeat(), next_verdict(watched, now));
    next_ = next_ ? std::min(*next_, due) : due;
  }
  out.next = next_;
  return out;
}

Duration FailureDetector::interval() const {
  const auto peers = static_cast<Duration::rep>(std::max(peers_.size(), options_.peers_min));
  return std::clamp(peers * options_.heartbeat_per_peer, options_.heartbeat_min, options_.heartbeat_max);
}

// A lease that is too short for both intervals is extended, so that one heartbeat may be lost.
Duration FailureDetector::down_after(const Watched& watched) const {
  return std::max(watched.lease, 2 * watched.interval + options_.suspicion);
}

// A silence that was noticed late is judged after one more tick, which follows soon.
TimePoint FailureDetector::next_verdict(const Watched& watched, TimePoint now) const {
  if (!watched.judged()) return TimePoint::max();
  const Duration limit = watched.unreachable ? down_after(watched) : unreachable_after(watched);
  return now + std::max(limit - watched.silence, options_.slack);
}

// Heartbeats that are nearly due are sent with one that is, so that a node wakes up once for many.
std::vector<FailureDetector::Heartbeat> FailureDetector::due_heartbeats(TimePoint now) {
  std::vector<Heartbeat> due;
  const auto is_due = [now](const auto& entry) { return entry.second.next_heartbeat() <= now; };
  if (std::ranges::none_of(peers_, is_due)) return due;
  const Duration promise = interval();
  for (auto& [name, watched] : peers_) {
    if (watched.next_heartbeat() - watched.our_interval / 4 > now) continue;
    watched.sent = now;
    watched.our_interval = promise;
    const bool deaf = watched.judged() && watched.silence >= unreachable_after(watched);
    due.push_back({.peer = name, .said = {.interval = promise, .deaf = deaf ? watched.silence : Duration{0}}});
  }
  return due;
}

// Time beyond the requested time of the tick is a stall of this node, not silence.
void FailureDetector::count_silence(Watched& watched, TimePoint now) const {
  const TimePoint listened = next_ ? std::min(now, *next_) : now;
  if (listened > watched.since) watched.silence += listened - watched.since;
  watched.since = now;
}

}  // namespace troupe
