#include "actors/references/fork_table.h"

#include <algorithm>

#include "actors/core/assert.h"

namespace troupe {

bool ForkTable::hand_out(const ForkId& fork, const NodeLife& holder, Token token) {
  if (ended_) return false;
  live_.insert_or_assign(fork, Live{holder, std::move(token)});
  return true;
}

void ForkTable::undo(const ForkId& fork) {
  if (!is_own(fork)) return;
  live_.erase(fork);
  settle();
}

ForkOutcome ForkTable::created(const ForkId& fork, const NodeLife& creator, Token token) {
  created_ = true;
  const ForkOutcome outcome = forked(fork, creator, std::move(token));
  settle();
  return outcome;
}

ForkOutcome ForkTable::forked(const ForkId& fork, const NodeLife& holder, Token token) {
  if (const auto at = live_.find(fork); at != live_.end()) {
    return at->second.holder == holder ? ForkOutcome::known : ForkOutcome::refused;
  }
  if (ended_ || is_own(fork) || is_dead(fork)) return ForkOutcome::revoked;
  if (awaited_.erase({fork, holder}) > 0) {
    bury(fork, holder);
    settle();
    return ForkOutcome::revoked;
  }
  live_.emplace(fork, Live{holder, std::move(token)});
  return ForkOutcome::known;
}

bool ForkTable::is_new(const ForkId& fork, const NodeLife& holder) const {
  return !ended_ && !is_own(fork) && !live_.contains(fork) && !awaited_.contains({fork, holder}) && !is_dead(fork);
}

bool ForkTable::deleted(const ForkId& fork, const NodeLife& holder, Token token) {
  if (ended_) return true;
  if (const auto at = live_.find(fork); at != live_.end()) {
    if (at->second.holder != holder) return false;
    live_.erase(at);
    if (!is_own(fork)) bury(fork, holder);
    settle();
    return true;
  }
  if (!is_own(fork) && !is_dead(fork)) awaited_.try_emplace({fork, holder}, std::move(token));
  return true;
}

bool ForkTable::came_home(const ForkId& fork) {
  if (!is_own(fork)) return true;
  live_.erase(fork);
  settle();
  return false;
}

bool ForkTable::hold() {
  if (ended_) return false;
  if (rref_.creator == owner_) created_ = true;
  ++holds_;
  return true;
}

void ForkTable::release() {
  TROUPE_ASSERT(holds_ > 0, "[rref] released more often than held: " + rref_.text());
  --holds_;
  settle();
}

void ForkTable::drop_node(const NodeLife& life) {
  std::erase_if(live_, [&](const auto& fork) { return fork.second.holder == life; });
  std::erase_if(awaited_, [&](const auto& fork) { return fork.first.second == life; });
  std::erase_if(dead_, [&](const Dead& dead) { return dead.holder == life; });
  if (rref_.creator == life.name && rref_.incarnation == life.incarnation.low) created_ = true;
  settle();
}

std::set<NodeLife> ForkTable::holders() const {
  std::set<NodeLife> out;
  for (const auto& [fork, live] : live_) out.insert(live.holder);
  return out;
}

std::string ForkTable::text() const {
  std::string out = ended_ ? "ended" : created_ ? "created" : "not created";
  if (holds_ > 0) out += ", " + std::to_string(holds_) + " held here";
  for (const auto& [fork, live] : live_) out += ", live " + fork.text() + " on " + live.holder.name;
  for (const auto& [awaited, token] : awaited_)
    out += ", awaited " + awaited.first.text() + " on " + awaited.second.name;
  for (const Dead& dead : dead_) out += ", dead " + dead.fork.text();
  return out;
}

bool ForkTable::is_dead(const ForkId& fork) const {
  return std::any_of(dead_.begin(), dead_.end(),
                     [&](const Dead& dead) { return dead.fork.serial == fork.serial && dead.fork == fork; });
}

void ForkTable::bury(const ForkId& fork, const NodeLife& holder) {
  if (dead_.size() == kDeadForksMax) dead_.pop_front();
  dead_.push_back({fork, holder});
}

// The only place that decides the end of a value's life.
void ForkTable::settle() {
  TROUPE_ASSERT(!ended_ || (live_.empty() && awaited_.empty() && holds_ == 0),
                "[rref] used after its end: " + rref_.text() + ": " + text());
  if (created_ && live_.empty() && awaited_.empty() && holds_ == 0) ended_ = true;
}

void EndedRRefs::add(const RRefId& rref) {
  if (recall(rref) == detail::Recall::ended) return;
  const Age age = next_age_++;
  by_age_.emplace(age, rref);
  ended_[{rref.creator, rref.incarnation}].emplace(rref.serial, age);
  if (by_age_.size() > kRememberedMax) forget_oldest();
}

void EndedRRefs::forget_oldest() {
  const auto oldest = by_age_.begin();
  const RRefId& rref = oldest->second;
  if (const auto creator = ended_.find({rref.creator, rref.incarnation}); creator != ended_.end()) {
    creator->second.erase(rref.serial);
    if (creator->second.empty()) ended_.erase(creator);
  }
  by_age_.erase(oldest);
}

// Looks at the values of that creator only: a node may own values of many, which all may go at once.
void EndedRRefs::drop_creator(const NodeLife& life) {
  const auto creator = ended_.find({life.name, life.incarnation.low});
  if (creator == ended_.end()) return;
  for (const auto& [serial, age] : creator->second) by_age_.erase(age);
  ended_.erase(creator);
}

detail::Recall EndedRRefs::recall(const RRefId& rref) const {
  if (rref.creator == self_) return detail::Recall::ended;
  const auto creator = ended_.find({rref.creator, rref.incarnation});
  const bool has_ended = creator != ended_.end() && creator->second.contains(rref.serial);
  return has_ended ? detail::Recall::ended : detail::Recall::unknown;
}

}  // namespace troupe
