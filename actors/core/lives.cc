#include "actors/core/lives.h"

#include <algorithm>

namespace troupe::detail {

bool Lives::begin(const Peer& peer) {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(peer.name);
  if (at == names_.end()) {
    Order place(1);
    place.front() = &*names_.try_emplace(peer.name, Name{.last = peer}).first;
    place.front()->second.place = place.begin();
    up_.splice(up_.end(), place);
    return true;
  }
  Name& name = at->second;
  if (name.last.incarnation == peer.incarnation) return !name.over;
  if (std::ranges::find(name.former, peer.incarnation) != name.former.end()) return false;
  name.former.push_back(name.last.incarnation);
  if (name.former.size() > kFormerMax) name.former.erase(name.former.begin());
  name.epoch_before = std::max(name.epoch_before, name.epoch);
  name.last = peer;
  name.epoch = 0;
  if (name.over) up_.splice(up_.end(), over_, name.place);
  name.over.reset();
  return true;
}

void Lives::end(const NodeLife& life, const Error& why) {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(life.name);
  if (at == names_.end() || at->second.last.incarnation != life.incarnation || at->second.over) return;
  at->second.over = why;
  over_.splice(over_.end(), up_, at->second.place);
  if (over_.size() <= kNamesOverMax) return;
  names_.erase(names_.find(over_.front()->first));
  over_.pop_front();
}

bool Lives::let_in(const NodeLife& life, std::uint64_t epoch) {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(life.name);
  if (at == names_.end()) return true;  // its session starts later
  Name& name = at->second;
  if (!may_be_in(name, life.incarnation, epoch)) return false;
  if (name.last.incarnation == life.incarnation) name.epoch = std::max(name.epoch, epoch);
  return true;
}

bool Lives::may_be_in(const NodeLife& life, std::uint64_t epoch) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(life.name);
  return at == names_.end() || may_be_in(at->second, life.incarnation, epoch);
}

bool Lives::may_be_in(const Name& name, Incarnation life, std::uint64_t epoch) {
  if (name.last.incarnation == life) return epoch == 0 || epoch >= name.epoch_before;
  const bool is_former = std::ranges::find(name.former, life) != name.former.end();
  return !is_former && (epoch == 0 || epoch >= std::max(name.epoch, name.epoch_before));
}

bool Lives::is_over(const NodeLife& life) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(life.name);
  if (at == names_.end()) return false;
  const Name& name = at->second;
  if (name.last.incarnation == life.incarnation) return name.over.has_value();
  return std::ranges::find(name.former, life.incarnation) != name.former.end();
}

bool Lives::is_over(const NodeName& creator, std::uint64_t incarnation_low) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(creator);
  if (at == names_.end()) return false;
  const Name& name = at->second;
  if (name.last.incarnation.low == incarnation_low) return name.over.has_value();
  return std::ranges::find(name.former, incarnation_low, &Incarnation::low) != name.former.end();
}

std::optional<Error> Lives::why_over(const NodeLife& life) const {
  if (!is_over(life)) return std::nullopt;
  auto why = why_over(life.name);
  if (why && why->incarnation == life.incarnation) return why;
  Error replaced;
  replaced.code = ErrorCode::peer_restarted;
  replaced.message = "a later life has taken its name";
  replaced.peer = life.name;
  replaced.incarnation = life.incarnation;
  return replaced;
}

std::optional<Error> Lives::why_over(const NodeName& name) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(name);
  return at == names_.end() ? std::nullopt : at->second.over;
}

bool Lives::is_up(const NodeLife& life) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(life.name);
  return at != names_.end() && at->second.last.incarnation == life.incarnation && !at->second.over;
}

bool Lives::has_met(const NodeLife& life) const { return is_up(life) || is_over(life); }

bool Lives::has_met(const NodeName& creator, std::uint64_t incarnation_low) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(creator);
  if (at == names_.end()) return false;
  const Name& name = at->second;
  return name.last.incarnation.low == incarnation_low ||
         std::ranges::find(name.former, incarnation_low, &Incarnation::low) != name.former.end();
}

std::optional<Peer> Lives::up(const NodeName& name) const {
  std::lock_guard lock(mutex_);
  const auto at = names_.find(name);
  if (at == names_.end() || at->second.over) return std::nullopt;
  return at->second.last;
}

std::vector<Peer> Lives::up() const {
  std::vector<Peer> peers;
  {
    std::lock_guard lock(mutex_);
    peers.reserve(up_.size());
    for (const auto* entry : up_) peers.push_back(entry->second.last);
  }
  std::ranges::sort(peers, {}, &Peer::name);
  return peers;
}

}  // namespace troupe::detail
