// Carries out one step on every owner: repeats the request to each until it answers or is gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/calls/waiting_calls.h"
#include "actors/core/node_core.h"
#include "actors/future.h"
#include "actors/shards/step_outcome.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Lives until every owner has answered or is gone, however long its caller waits. Until then the node is not idle
/// (MB-1). Thread rule: any thread may call any member.
class StepRun final : public std::enable_shared_from_this<StepRun> {
 public:
  /// The meaning of an owner's refusal.
  enum class Refusal : std::uint8_t {
    is_final,     ///< the owner has not taken the step, and need not
    is_repeated,  ///< the step is decided: the request is repeated
  };
  struct Parts {
    std::shared_ptr<NodeCore> node;
    std::string actor;  ///< its path at every owner
    std::vector<NodeLife> owners;
    std::function<msg::AnyMessage()> make_message;  ///< for each attempt; idempotent at the owner
    Refusal refusal = Refusal::is_final;
    std::function<void(const StepOutcome&)> resolved;  ///< called once, before the future is complete
  };

  explicit StepRun(Parts parts);

  void begin();

  [[nodiscard]] Future<StepOutcome> outcome() const { return outcome_; }

  /// Returns the outcomes that are known now.
  [[nodiscard]] StepOutcome so_far() const;

  /// Returns the owners without an outcome, and their last refusals.
  [[nodiscard]] std::map<NodeName, std::optional<Error>> open() const;

 private:
  enum class Fate : std::uint8_t { not_applied, lost, open };
  /// What is known of an owner without an outcome.
  struct Open {
    std::optional<Error> refusal;  // the last one
    bool may_have_run = false;     // a request may have reached the shard
  };

  void ask(const NodeLife& owner);
  void answered(const NodeLife& owner, Result<msg::AnyMessage> answer);
  /// A request has been answered, or has failed and may have run all the same.
  void note_may_have_run(const NodeLife& owner);
  [[nodiscard]] bool may_have_run(const NodeLife& owner) const;
  [[nodiscard]] Fate fate_of(const NodeLife& owner, const Error& error) const;

  const Parts parts_;
  const WaitingCalls::Token active_;
  const Promise<StepOutcome> promise_;
  const Future<StepOutcome> outcome_;
  mutable std::mutex mutex_;
  StepOutcome so_far_;             // guarded by mutex_
  std::map<NodeName, Open> open_;  // guarded by mutex_
};

}  // namespace troupe::detail
