#include "actors/turn_queue.h"

#include <stdexcept>
#include <string>

namespace troupe {
namespace {

[[noreturn]] void misuse(const char* what, TurnId use) {
  throw std::logic_error("[turn] " + std::string(what) + ": use " + std::to_string(use.value));
}

}  // namespace

bool TurnQueue::request(TurnId use) {
  if (uses_.contains(use)) misuse("requested twice", use);
  return run_or_queue(use, State::arriving, arriving_);
}

std::optional<TurnId> TurnQueue::suspend(TurnId use) {
  if (!is(use, State::running)) misuse("suspended without its turn", use);
  uses_[use] = State::suspended;
  --running_count_;
  return grant_next();
}

bool TurnQueue::resume(TurnId use) {
  if (!is(use, State::suspended)) misuse("resumed but not suspended", use);
  return run_or_queue(use, State::returning, returning_);
}

std::optional<TurnId> TurnQueue::release(TurnId use) {
  const auto at = uses_.find(use);
  if (at == uses_.end()) misuse("released but unknown", use);
  const State state = at->second;
  uses_.erase(at);
  if (state == State::arriving) std::erase(arriving_, use);
  if (state == State::returning) std::erase(returning_, use);
  if (state != State::running) return std::nullopt;
  --running_count_;
  return grant_next();
}

bool TurnQueue::is(TurnId use, State state) const {
  const auto at = uses_.find(use);
  return at != uses_.end() && at->second == state;
}

bool TurnQueue::run_or_queue(TurnId use, State queued, std::deque<TurnId>& queue) {
  const bool runs = may_run();
  uses_[use] = runs ? State::running : queued;
  if (runs) {
    ++running_count_;
  } else {
    queue.push_back(use);
  }
  return runs;
}

// Those that return go first: what began is finished before more is begun (TQ-2).
std::optional<TurnId> TurnQueue::grant_next() {
  std::deque<TurnId>& queue = returning_.empty() ? arriving_ : returning_;
  if (queue.empty()) return std::nullopt;
  const TurnId next = queue.front();
  queue.pop_front();
  uses_[next] = State::running;
  ++running_count_;
  return next;
}

}  // namespace troupe
