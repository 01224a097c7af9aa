// The outcome of each step of one optimizer on one owner, and how the owners agree on it when their driver is gone.
// Plain rules: no CAF, no clock, no tensors; one thread at a time. Rules SH-6 to SH-11 of PROTOCOLS.md.
//
//   unknown --prepared--> prepared --applied--> applied       decided by the driver, or after its end by another owner
//   unknown, prepared --aborted--> aborted                    applied and aborted are final
//
// As long as the driver lives it decides. It also reports the serial below which it knows all outcomes: those steps are
// forgotten. When the driver is gone, the living owner whose name sorts first decides: it asks all others, and commits
// if one of them has applied the step, otherwise aborts. An owner that does not know the outcome yet answers only the
// owner that, in its own view, decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "messages/ids.h"
#include "messages/optim.h"

namespace troupe::detail {

class StepLedger {
 public:
  /// The most steps known at the same time. A driver has far fewer under way (kUnresolvedStepsMax).
  static constexpr std::size_t kStepsMax = 1024;

  /// A ShardQuery to send. Its answer, or the news that there will be none, arrives at `answered`.
  struct Question {
    NodeLife owner;
    StepId step;
    msg::StepState own = msg::StepState::unknown;
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  /// The ShardOutcome for an owner that asked.
  struct Answer {
    NodeLife asker;
    StepId step;
    msg::StepState state = msg::StepState::unknown;
    friend auto operator<=>(const Answer&, const Answer&) = default;
  };
  /// The consequences of events. Steps to apply are prepared, and are listed again until `applied` is called: applying
  /// may fail. Steps to abort are aborted already.
  struct Todo {
    std::list<Question> questions;
    std::list<Answer> answers;
    std::vector<StepId> apply;
    std::vector<StepId> abort;
    friend auto operator<=>(const Todo&, const Todo&) = default;
  };

  explicit StepLedger(NodeLife self) : self_(std::move(self)) {}

  /// A forgotten step below the driver's floor counts as aborted: an owner that still asks about it has never reported
  /// an outcome to the driver, so the driver had not committed it.
  [[nodiscard]] msg::StepState state(const StepId& step) const;

  /// Returns how many steps had been applied with this one; 0 if it was not applied.
  [[nodiscard]] std::uint64_t version(const StepId& step) const;

  /// Returns true if no further step can be prepared.
  [[nodiscard]] bool full() const { return steps_.size() >= kStepsMax; }

  /// `owners`, by name: all owners of the step; empty: this owner alone. REQUIRES: state(step) is unknown, not full(),
  /// and the driver is not gone.
  void prepared(const StepId& step, std::vector<NodeLife> owners);

  /// REQUIRES: state(step) is prepared. Does not throw.
  void applied(const StepId& step, std::uint64_t version) noexcept;

  /// The driver aborted the step. No effect on an applied step.
  void aborted(const StepId& step);

  /// Forgets a prepared step that failed before any message about it was sent.
  void forget(const StepId& step) { steps_.erase(step); }

  /// The driver knows the outcome of all steps with a serial below `floor`.
  void settled(std::uint64_t floor);

  /// The driver released the optimizer, or its life is over: no message of it arrives any more.
  void driver_gone();

  /// A ShardQuery arrived.
  void asked(const NodeLife& by, const StepId& step, msg::StepState own);

  /// An owner answered a Question; nullopt: that life of the owner is over.
  void answered(const NodeLife& owner, const StepId& step, std::optional<msg::StepState> state);

  /// Returns what to do. Call it after every event above. Throws std::bad_alloc; then the next call returns all.
  [[nodiscard]] Todo todo();

  /// Returns true if the driver is gone and no owner can ask about a step any more.
  [[nodiscard]] bool over() const { return driver_gone_ && steps_.empty(); }

  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  friend auto operator<=>(const StepLedger&, const StepLedger&) = default;

 private:
  /// What this owner knows about another owner after the driver's end.
  enum class Known : std::uint8_t {
    nothing,
    asked,  ///< asked for its state; the answer is under way
    waits,  ///< it has not applied the step, and follows this owner's decision
    told,   ///< told that this owner applied it, and asked; it answers when it knows the outcome itself
    ended,  ///< it knows the outcome, or is gone
  };
  struct Record {
    msg::StepState state = msg::StepState::prepared;
    std::uint64_t version = 0;
    std::vector<NodeLife> owners;
    std::vector<Known> known;                    // of each owner; used after the driver's end
    std::map<NodeLife, msg::StepState> askers;   // owners that wait for an answer, and their states
    std::optional<msg::StepState> decided = {};  // after the driver's end, until it is carried out
    friend auto operator<=>(const Record&, const Record&) = default;
  };
  using Steps = std::map<StepId, Record>;

  [[nodiscard]] bool takes_part(const Record& record, const NodeLife& owner) const;
  void begin_alone(Record& record);
  [[nodiscard]] std::optional<std::size_t> leader(const Record& record) const;
  void ask(const StepId& step, Record& record, std::size_t owner);
  /// Returns true if the record is no longer needed.
  [[nodiscard]] bool go_on(const StepId& step, Record& record);
  void decide(const StepId& step, Record& record);
  void tell_askers(const StepId& step, Record& record);

  NodeLife self_;
  Steps steps_;
  std::uint64_t floor_ = 0;
  bool driver_gone_ = false;
  Todo todo_;
};

}  // namespace troupe::detail
