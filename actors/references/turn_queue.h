// Whose turn it is on the value of one RRef. Rules TQ-1 to TQ-4 of PROTOCOLS.md. Plain state: no CAF, no clock; one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/reports.h"
#include "messages/rpc.h"

namespace troupe {

using msg::Sharing;

/// Names one use of the value: a served function, or the guard that local_value() returned. Never used again.
struct TurnId {
  std::uint64_t value = 0;
  friend auto operator<=>(const TurnId&, const TurnId&) = default;
};

/// Grants turns in arrival order. A use that waits for something else gives its turn up, and takes it again, before the
/// uses that have not begun, when the wait is over. Throws BrokenInvariant on an event that its use cannot have.
class TurnQueue {
 public:
  explicit TurnQueue(Sharing sharing = Sharing::turns) : sharing_(sharing) {}

  /// A use arrives. Returns true if it may begin now; else a later call returns it.
  [[nodiscard]] bool request(TurnId use);

  /// The use that has the turn begins to wait. Returns the use that has the turn now, if there is one.
  [[nodiscard]] std::optional<TurnId> suspend(TurnId use);

  /// Its wait is over. Returns true if it may go on now; else a later call returns it.
  [[nodiscard]] bool resume(TurnId use);

  /// The use ends: done, cancelled or its caller gone, whether it has the turn, waits for it or is suspended.
  /// Returns the use that has the turn now because of that, if there is one.
  [[nodiscard]] std::optional<TurnId> release(TurnId use);

  /// All uses and what each is doing: who has the turn, then who waits for it in the order of their turns, then who waits
  /// for something else.
  [[nodiscard]] std::vector<std::pair<TurnId, UseState>> uses() const;

  [[nodiscard]] bool has_turn(TurnId use) const { return is(use, UseState::has_turn); }
  /// Uses that are neither running nor suspended.
  [[nodiscard]] std::size_t waiting_count() const noexcept { return returning_.size() + arriving_.size(); }
  /// Uses that began and wait for something else.
  [[nodiscard]] std::size_t suspended_count() const noexcept { return uses_.size() - running_count_ - waiting_count(); }
  [[nodiscard]] bool empty() const noexcept { return uses_.empty(); }

 private:
  [[nodiscard]] bool is(TurnId use, UseState state) const;
  [[nodiscard]] bool may_run() const noexcept { return sharing_ == Sharing::concurrent || running_count_ == 0; }
  bool run_or_queue(TurnId use, UseState queued, std::deque<TurnId>& queue);
  std::optional<TurnId> grant_next();

  Sharing sharing_;
  std::map<TurnId, UseState> uses_;
  std::size_t running_count_ = 0;  // at most 1 if sharing is `turns`
  std::deque<TurnId> returning_;
  std::deque<TurnId> arriving_;
};

}  // namespace troupe
