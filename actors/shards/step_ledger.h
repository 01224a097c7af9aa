// What became of each step of one optimizer on one owner, and how the owners agree on it when their driver is gone. Plain
// rules: no CAF, no clock, no tensors; one thread at a time. Rules SH-6 to SH-11 of PROTOCOLS.md.
//
//   unknown --prepared--> prepared --applied--> applied       what the driver says, or another owner after the driver's end
//   unknown, prepared --aborted--> aborted                    applied and aborted are final
//
// As long as the driver lives it decides, and says below which serial it knows all outcomes: those are forgotten. When it
// is gone, the owner whose name sorts first among the living decides: it asks all others, and commits if one of them has
// applied the step, else aborts. An owner answers the one that it takes for that owner, and nobody else before it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/core/node_life.h"
#include "messages/ids.h"
#include "messages/optim.h"

namespace troupe::detail {

class StepLedger {
 public:
  /// Steps known at once. A driver has far fewer under way (DistOptimizer::kUnresolvedMax).
  static constexpr std::size_t kStepsMax = 1024;

  /// A ShardQuery to be sent. Its answer, or that there will be none, comes to `answered`.
  struct Question {
    NodeLife owner;
    StepId step;
    msg::StepState own = msg::StepState::unknown;
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  /// The ShardOutcome for who asked.
  struct Answer {
    NodeLife asker;
    StepId step;
    msg::StepState state = msg::StepState::unknown;
    friend auto operator<=>(const Answer&, const Answer&) = default;
  };
  /// What follows from what was said. Steps to apply are prepared, and come again until `applied` is called: applying may
  /// fail. Steps to abort are aborted already.
  struct Todo {
    std::vector<Question> questions;
    std::vector<Answer> answers;
    std::vector<StepId> apply;
    std::vector<StepId> abort;
    friend auto operator<=>(const Todo&, const Todo&) = default;
  };

  explicit StepLedger(NodeLife self) : self_(std::move(self)) {}

  /// Steps below the driver's floor that are forgotten count as aborted: who still has to be told was not heard by the
  /// driver, which then had not committed.
  [[nodiscard]] msg::StepState state(const StepId& step) const;

  /// Of an applied step: how many had been applied with it. 0 for others.
  [[nodiscard]] std::uint64_t version(const StepId& step) const;

  /// No further step can be prepared.
  [[nodiscard]] bool full() const { return steps_.size() >= kStepsMax; }

  /// REQUIRES: state(step) is unknown, and not full(). `owners`, by name: who takes it; none: this owner alone.
  void prepared(const StepId& step, std::vector<NodeLife> owners);

  /// REQUIRES: state(step) is prepared. Does not throw.
  void applied(const StepId& step, std::uint64_t version) noexcept;

  /// The driver said so. No effect on an applied step.
  void aborted(const StepId& step);

  /// A prepared step that came to nothing before anybody heard of it.
  void forget(const StepId& step) { steps_.erase(step); }

  /// The driver knows what became of all steps with a serial below `floor`.
  void settled(std::uint64_t floor);

  /// It released the optimizer, or its life is over: no word of it comes any more.
  void driver_gone();

  /// A ShardQuery.
  void asked(const NodeLife& by, const StepId& step, msg::StepState own);

  /// What an owner answered to a Question; nothing: that life of it is over.
  void answered(const NodeLife& owner, const StepId& step, std::optional<msg::StepState> state);

  /// To be asked for after every call of the above.
  [[nodiscard]] Todo todo();

  /// Nothing is left that anybody may ask for.
  [[nodiscard]] bool over() const { return driver_gone_ && steps_.empty(); }

  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  friend auto operator<=>(const StepLedger&, const StepLedger&) = default;

 private:
  /// What this owner knows of another one after the driver's end.
  enum class Known : std::uint8_t {
    nothing,
    asked,  ///< what it knows; the answer is under way
    waits,  ///< has not applied it, and does what this owner decides
    told,   ///< that it is applied here, and asked; the answer comes when it knows the outcome itself
    ended,  ///< knows the outcome, or is gone
  };
  struct Record {
    msg::StepState state = msg::StepState::prepared;
    std::uint64_t version = 0;
    std::vector<NodeLife> owners;
    std::vector<Known> known;                     // of each owner; from the driver's end on
    std::map<NodeLife, msg::StepState> askers;    // owners that wait for an answer, and what they know
    std::optional<msg::StepState> decided = {};   // after the driver's end, until it is carried out
    friend auto operator<=>(const Record&, const Record&) = default;
  };
  using Steps = std::map<StepId, Record>;

  [[nodiscard]] bool takes_part(const Record& record, const NodeLife& owner) const;
  void begin_alone(Record& record);
  [[nodiscard]] std::optional<std::size_t> leader(const Record& record) const;
  void ask(const StepId& step, Record& record, std::size_t owner);
  /// Returns whether nobody needs the record any more.
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
