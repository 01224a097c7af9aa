// Which micro-batch may enter a stage next. Plain rules: no CAF, no clock; one thread at a time.
//
// The pipeline numbers the micro-batches of all its rounds without gaps: these are their tickets. They enter each stage
// in the order of tickets, one at a time, whatever the order in which they arrive. Rules PL-1 to PL-3 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace troupe::detail {

/// A round, by the ticket of its first micro-batch.
struct RoundId {
  std::uint64_t first_ticket = 0;
  friend auto operator<=>(const RoundId&, const RoundId&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first_ticket);
  }
};

/// What a stage knows of a round.
struct RoundPlan {
  RoundId round;
  std::uint32_t count = 0;     ///< of micro-batches
  std::uint32_t live_max = 0;  ///< of them in this stage at a time; 0: they are not counted
  friend bool operator==(const RoundPlan&, const RoundPlan&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(round, count, live_max);
  }
};

/// One micro-batch of a round.
struct MicroBatchId {
  RoundId round;
  std::uint32_t index = 0;
  friend auto operator<=>(const MicroBatchId&, const MicroBatchId&) = default;
};

class StageGate {
 public:
  /// A micro-batch wants to enter. Returns false if it must be refused: its round was dropped or is over, it came
  /// before, or it does not fit the round's plan.
  [[nodiscard]] bool arrive(const RoundPlan& plan, std::uint32_t index);

  /// Returns the micro-batch that enters now, if any: the next ticket has arrived, no other micro-batch runs, and the
  /// round may have one more that is live.
  [[nodiscard]] std::optional<MicroBatchId> admit() noexcept;

  /// The micro-batch that entered last has run. It stays live until `settle`, if its round counts that.
  void leave(const MicroBatchId& batch) noexcept;

  /// The backward of the micro-batch is done here, or there will be none. Returns whether it was live.
  bool settle(const MicroBatchId& batch) noexcept;

  /// The round has failed: those of its micro-batches that did not enter never will, and the next round follows.
  /// Returns false, and changes nothing, if the round is known with another plan. Throws std::bad_alloc; then nothing
  /// has changed.
  [[nodiscard]] bool drop(const RoundPlan& plan);

  /// Returns the number of live micro-batches of a round.
  [[nodiscard]] std::size_t live(RoundId round) const;
  /// Returns the number of rounds that are not over.
  [[nodiscard]] std::size_t size() const noexcept { return rounds_.size(); }

 private:
  struct Round {
    RoundPlan plan;
    std::set<std::uint32_t> arrived;  // and not entered
    std::set<std::uint32_t> live;
    bool dropped = false;
  };

  /// Returns the round of `plan`, made if it is new; null if it is over or overlaps another one.
  Round* find_or_make(const RoundPlan& plan);
  /// Moves past dropped rounds, and forgets rounds that are over.
  void advance() noexcept;
  void forget_if_over(RoundId round) noexcept;

  std::uint64_t next_ = 0;
  std::map<RoundId, Round> rounds_;
  std::optional<MicroBatchId> running_;
};

}  // namespace troupe::detail
