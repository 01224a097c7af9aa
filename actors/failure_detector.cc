#include "actors/failure_detector.h"

#include <algorithm>

namespace troupe {

void FailureDetector::watch(const NodeName& peer, Incarnation incarnation, TimePoint now) {
  peers_.insert_or_assign(
      peer, Watched{.incarnation = incarnation, .heard = now, .sent = now, .interval = options_.heartbeat_max});
  next_ = next_ ? std::min(*next_, now) : now;
}

void FailureDetector::forget(const NodeName& peer) {
  peers_.erase(peer);
  if (peers_.empty()) next_.reset();
}

std::optional<FailureDetector::Event> FailureDetector::heard(const NodeName& peer, Incarnation incarnation,
                                                             TimePoint now) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.incarnation != incarnation) return std::nullopt;
  Watched& watched = found->second;
  const Duration silence = now - watched.heard;
  watched.heard = std::max(watched.heard, now);
  if (!watched.unreachable) return std::nullopt;
  watched.unreachable = false;
  return Event{.peer = peer, .incarnation = incarnation, .change = Reach::reachable, .silence = silence};
}

void FailureDetector::promised(const NodeName& peer, Incarnation incarnation, Duration interval) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.incarnation != incarnation) return;
  found->second.interval = std::clamp(interval, options_.heartbeat_min, options_.heartbeat_max);
}

void FailureDetector::sent(const NodeName& peer, TimePoint now) {
  if (const auto found = peers_.find(peer); found != peers_.end()) found->second.sent = now;
}

FailureDetector::Verdicts FailureDetector::tick(TimePoint now) {
  const bool stalled = forgive_own_stall(now);
  Verdicts out;
  out.heartbeats = due_heartbeats(now);
  for (auto it = peers_.begin(); it != peers_.end();) {
    const NodeName& name = it->first;
    Watched& watched = it->second;
    const Duration silence = now - watched.heard;
    const Duration unreachable_after = watched.interval + options_.late_suspicion;
    const Duration down_after = 2 * watched.interval + options_.late_down;
    if (silence >= down_after && !stalled) {
      out.events.push_back({name, watched.incarnation, Reach::down, silence});
      it = peers_.erase(it);
      continue;
    }
    if (silence >= unreachable_after && !watched.unreachable && !stalled) {
      watched.unreachable = true;
      out.events.push_back({name, watched.incarnation, Reach::unreachable, silence});
    }
    const TimePoint verdict = watched.heard + (watched.unreachable ? down_after : unreachable_after);
    const TimePoint due = std::min(watched.next_heartbeat(), stalled ? now + options_.heartbeat_min : verdict);
    out.next = out.next ? std::min(*out.next, due) : due;
    ++it;
  }
  next_ = out.next;
  return out;
}

Duration FailureDetector::interval() const {
  const auto peers = static_cast<Duration::rep>(std::max(peers_.size(), options_.peers_min));
  return std::clamp(peers * options_.heartbeat_per_peer, options_.heartbeat_min, options_.heartbeat_max);
}

// Those that are nearly due go with one that is, so that a node wakes up once for many.
std::vector<FailureDetector::Heartbeat> FailureDetector::due_heartbeats(TimePoint now) {
  std::vector<Heartbeat> due;
  const auto is_due = [now](const auto& entry) { return entry.second.next_heartbeat() <= now; };
  if (std::ranges::none_of(peers_, is_due)) return due;
  const Duration promise = interval();
  for (auto& [name, watched] : peers_) {
    if (watched.next_heartbeat() - watched.our_interval / 4 > now) continue;
    watched.sent = now;
    watched.our_interval = promise;
    due.push_back({.peer = name, .interval = promise});
  }
  return due;
}

// While this node did not run it heard nobody, whatever they sent; what they sent meanwhile may still wait to be read,
// so nobody is judged at this tick. Returns whether there was a stall.
bool FailureDetector::forgive_own_stall(TimePoint now) {
  if (!next_ || now <= *next_ + options_.slack) return false;
  const Duration stall = now - *next_;
  for (auto& [name, watched] : peers_) watched.heard = std::min(now, watched.heard + stall);
  return true;
}

}  // namespace troupe
