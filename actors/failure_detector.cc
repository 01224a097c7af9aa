#include "actors/failure_detector.h"

#include <algorithm>

namespace troupe {

void FailureDetector::watch(const NodeName& peer, Incarnation incarnation, TimePoint now) {
  peers_.insert_or_assign(peer, Watched{.incarnation = incarnation, .heard = now, .sent = now});
  const TimePoint due = now + options_.heartbeat;
  next_ = next_ ? std::min(*next_, due) : due;
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
  return Event{.peer = peer, .incarnation = incarnation, .change = Change::reachable, .silence = silence};
}

void FailureDetector::sent(const NodeName& peer, TimePoint now) {
  if (const auto found = peers_.find(peer); found != peers_.end()) found->second.sent = now;
}

FailureDetector::Verdicts FailureDetector::tick(TimePoint now) {
  const bool stalled = forgive_own_stall(now);
  Verdicts out;
  for (auto it = peers_.begin(); it != peers_.end();) {
    const NodeName& name = it->first;
    Watched& watched = it->second;
    const Duration silence = now - watched.heard;
    if (silence >= options_.down && !stalled) {
      out.events.push_back({name, watched.incarnation, Change::down, silence});
      it = peers_.erase(it);
      continue;
    }
    if (silence >= options_.suspicion && !watched.unreachable && !stalled) {
      watched.unreachable = true;
      out.events.push_back({name, watched.incarnation, Change::unreachable, silence});
    }
    if (now - watched.sent >= options_.heartbeat) {
      watched.sent = now;
      out.heartbeats.push_back(name);
    }
    const TimePoint verdict = watched.heard + (watched.unreachable ? options_.down : options_.suspicion);
    const TimePoint due = std::min(watched.sent + options_.heartbeat, stalled ? now + options_.heartbeat : verdict);
    out.next = out.next ? std::min(*out.next, due) : due;
    ++it;
  }
  next_ = out.next;
  return out;
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
