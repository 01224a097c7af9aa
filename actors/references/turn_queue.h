// The uses of the value of one RRef, and their turns. Rules TQ-1 to TQ-4 and TQ-7 of PROTOCOLS.md. Plain state:
// no CAF, no clock; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/reports.h"
#include "messages/ids.h"
#include "messages/rpc.h"

namespace troupe {

using msg::Sharing;

/// Identifies one use of the value: a served function, or the guard that local_value() returned. Never reused.
struct TurnId {
  std::uint64_t value = 0;
  friend auto operator<=>(const TurnId&, const TurnId&) = default;
};

namespace detail {

enum class UseKind : std::uint8_t {
  looks,    ///< reads only what never changes: takes no turn
  reads,    ///< in turn
  changes,  ///< in turn; afterwards copies of the value are out of date
};

/// A use, as the value's owner sees it.
struct UsePurpose {
  UsePurpose(UseKind k, std::string w = {}, std::optional<NodeLife> asker = {})
      : kind(k), what(std::move(w)), asked_by(std::move(asker)) {}
  UseKind kind;
  std::string what;                                ///< for reports: "rpc forward for trainer0"
  std::optional<NodeLife> asked_by;                ///< the requester; a use that has not started ends with its life
  std::optional<NodeLife> counted_for = asked_by;  ///< the requester in whose quota things made for the use count
};

}  // namespace detail

/// The place in the queue of a use that has begun and wants its turn again.
enum class TurnOrder : std::uint8_t {
  returning,  ///< before all uses that have not begun (TQ-2)
  anew,       ///< behind all that wait: a stream, which may never end, for its next element (TQ-7)
};

/// Grants turns in order of arrival. A use that waits for something else gives its turn up; when the wait is over, it
/// gets a turn again before uses that have not started, unless it asks for it anew. Throws BrokenInvariant on an event
/// that its use cannot have.
class TurnQueue {
 public:
  explicit TurnQueue(Sharing sharing = Sharing::turns) : sharing_(sharing) {}

  /// A use arrives. Returns true if it may start now; otherwise a later call returns it. Throws std::bad_alloc; then
  /// nothing has changed.
  [[nodiscard]] bool request(TurnId use);

  /// The use that has the turn starts to wait. Returns the use that has the turn now, if any.
  [[nodiscard]] std::optional<TurnId> suspend(TurnId use);

  /// The wait of `use` is over. Returns true if it may continue now; otherwise a later call returns it.
  [[nodiscard]] bool resume(TurnId use, TurnOrder order = TurnOrder::returning);

  /// A use that has begun and waits for its turn again waits for something else instead.
  void withdraw(TurnId use);

  /// The use ends (done, cancelled or its caller down), whether it has the turn, waits for it or is suspended. Returns
  /// the use that has the turn because of that, if any.
  [[nodiscard]] std::optional<TurnId> release(TurnId use);

  /// Returns all uses and their states: the one with the turn, then those that wait for it in the order of turns, then
  /// those that wait for something else.
  [[nodiscard]] std::vector<std::pair<TurnId, UseState>> uses() const;

  [[nodiscard]] bool contains(TurnId use) const { return uses_.contains(use); }
  [[nodiscard]] bool has_turn(TurnId use) const { return is(use, UseState::has_turn); }
  /// Returns the number of uses that are neither running nor suspended.
  [[nodiscard]] std::size_t waiting_count() const noexcept { return returning_.size() + arriving_.size(); }
  /// Returns the number of uses that started and wait for something else.
  [[nodiscard]] std::size_t suspended_count() const noexcept { return uses_.size() - running_count_ - waiting_count(); }
  [[nodiscard]] bool empty() const noexcept { return uses_.empty(); }

 private:
  [[nodiscard]] bool is(TurnId use, UseState state) const;
  void leave_queue(TurnId use, UseState state);
  [[nodiscard]] bool may_run() const noexcept { return sharing_ == Sharing::concurrent || running_count_ == 0; }
  bool run_or_queue(TurnId use, UseState queued, std::list<TurnId>& queue);
  std::optional<TurnId> grant_next();

  Sharing sharing_;
  std::map<TurnId, UseState> uses_;
  std::size_t running_count_ = 0;  // at most 1 if sharing is `turns`
  std::list<TurnId> returning_;    // lists take no memory while nobody waits: there is a queue for each value
  std::list<TurnId> arriving_;     // have not begun, or ask anew
};

}  // namespace troupe
