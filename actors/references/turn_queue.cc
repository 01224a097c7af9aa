#include "actors/references/turn_queue.h"

#include <string>
#include <utility>

#include "actors/core/assert.h"

namespace troupe {
namespace {

[[noreturn]] void misuse(const char* what, TurnId use) {
  throw detail::BrokenInvariant("[turn] " + std::string(what) + ": use " + std::to_string(use.value));
}

}  // namespace

bool TurnQueue::request(TurnId use) {
  if (uses_.contains(use)) misuse("requested twice", use);
  return run_or_queue(use, UseState::arriving, arriving_);
}

std::optional<TurnId> TurnQueue::suspend(TurnId use) {
  if (!is(use, UseState::has_turn)) misuse("suspended without its turn", use);
  uses_[use] = UseState::waits_elsewhere;
  --running_count_;
  return grant_next();
}

bool TurnQueue::resume(TurnId use, TurnOrder order) {
  if (!is(use, UseState::waits_elsewhere)) misuse("resumed but not suspended", use);
  if (order == TurnOrder::anew) return run_or_queue(use, UseState::arriving, arriving_);
  return run_or_queue(use, UseState::returning, returning_);
}

void TurnQueue::withdraw(TurnId use) {
  const auto at = uses_.find(use);
  const bool waits = at != uses_.end() && (at->second == UseState::arriving || at->second == UseState::returning);
  if (!waits) misuse("withdrawn but not waiting", use);
  leave_queue(use, std::exchange(at->second, UseState::waits_elsewhere));
}

std::optional<TurnId> TurnQueue::release(TurnId use) {
  const auto at = uses_.find(use);
  if (at == uses_.end()) misuse("released but unknown", use);
  const UseState state = at->second;
  uses_.erase(at);
  leave_queue(use, state);
  if (state != UseState::has_turn) return std::nullopt;
  --running_count_;
  return grant_next();
}

std::vector<std::pair<TurnId, UseState>> TurnQueue::uses() const {
  std::vector<std::pair<TurnId, UseState>> uses;
  const auto add_all = [&](UseState wanted) {
    for (const auto& [use, state] : uses_) {
      if (state == wanted) uses.emplace_back(use, state);
    }
  };
  add_all(UseState::has_turn);
  for (const TurnId use : returning_) uses.emplace_back(use, UseState::returning);
  for (const TurnId use : arriving_) uses.emplace_back(use, UseState::arriving);
  add_all(UseState::waits_elsewhere);
  return uses;
}

void TurnQueue::leave_queue(TurnId use, UseState state) {
  if (state == UseState::arriving) std::erase(arriving_, use);
  if (state == UseState::returning) std::erase(returning_, use);
}

bool TurnQueue::is(TurnId use, UseState state) const {
  const auto at = uses_.find(use);
  return at != uses_.end() && at->second == state;
}

bool TurnQueue::run_or_queue(TurnId use, UseState queued, std::list<TurnId>& queue) {
  const bool runs = may_run();
  std::list<TurnId> place;  // first: without memory nothing has changed
  if (!runs) place.push_back(use);
  uses_[use] = runs ? UseState::has_turn : queued;
  if (runs) ++running_count_;
  queue.splice(queue.end(), place);
  return runs;
}

// Returning uses come first: started uses finish before new ones start (TQ-2).
std::optional<TurnId> TurnQueue::grant_next() {
  std::list<TurnId>& queue = returning_.empty() ? arriving_ : returning_;
  if (queue.empty()) return std::nullopt;
  const TurnId next = queue.front();
  queue.pop_front();
  uses_[next] = UseState::has_turn;
  ++running_count_;
  return next;
}

}  // namespace troupe
