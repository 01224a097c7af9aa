// The node's side of a DistOptimizer: its steps on all owners, and the state that it gathers from them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/shards/shared_optimizer.h"
#include "actors/shards/step_options.h"
#include "actors/shards/step_run.h"
#include "messages/optim.h"
#include "optim/optimizer.h"
#include "tensor/io/named_tensors.h"

namespace troupe::detail {

class BegunStep;
class PreparedLoad;

/// One handle of an optimizer on its node. Lives until the last copy of the handle is destroyed and its steps are
/// resolved; then its shards are released. Thread rule: any thread may call any member.
class OptimizerDriver final : public std::enable_shared_from_this<OptimizerDriver> {
 public:
  using Due = std::optional<TimePoint>;

  /// Throws std::invalid_argument if a group has no parameters, or there is none, or a mode without staleness has one.
  OptimizerDriver(const std::shared_ptr<NodeCore>& node, std::vector<DistParameterGroup> groups,
                  const Stepping& stepping);
  ~OptimizerDriver();
  OptimizerDriver(const OptimizerDriver&) = delete;
  OptimizerDriver& operator=(const OptimizerDriver&) = delete;

  /// Makes the shards. Throws RemoteError.
  void create(NodeCore& core, Due due);

  /// Joins the shards of another handle. Throws RemoteError.
  void join(NodeCore& core, Due due, const SharedOptimizerParts& shared);

  /// Returns what another node needs to join. Throws RemoteError{shutting_down}.
  [[nodiscard]] SharedOptimizerParts shared() const;

  /// Takes a step from the gradients of `context`. Throws as DistOptimizer::step.
  void step(NodeCore& core, Due due, const ContextId& context, const msg::StepSettings& settings);

  /// Throws as DistOptimizer::state_dict and load_state_dict.
  [[nodiscard]] NamedTensors state_dict(NodeCore& core, Due due, StateContent content);
  void load_state_dict(NodeCore& core, Due due, const NamedTensors& state);

  /// Returns a state that every owner has accepted and none has taken yet. Throws as load_state_dict().
  [[nodiscard]] PreparedLoad prepare_load(NodeCore& core, Due due, const NamedTensors& state);

  /// Returns whether a step of this handle has no outcome yet. Throws RemoteError if an owner is gone that may have
  /// been the only one to take a step: that step never gets an outcome.
  [[nodiscard]] bool has_unresolved() const;

  [[nodiscard]] Future<StepOutcome> outcome(const StepId& step) const;

  [[nodiscard]] const OptimizerId& id() const noexcept { return id_; }
  /// By name. REQUIRES: create() or join() has returned.
  [[nodiscard]] const std::vector<NodeLife>& owners() const noexcept { return owners_; }
  [[nodiscard]] const std::vector<DistParameterGroup>& groups() const noexcept { return groups_; }

  /// Returns the rates of the groups, and the momentums that were set.
  [[nodiscard]] std::vector<msg::StepRate> rates() const;
  [[nodiscard]] double lr(std::size_t group) const;
  void set_lr(std::size_t group, double lr);
  [[nodiscard]] double momentum(std::size_t group) const;
  void set_momentum(std::size_t group, double momentum);

 private:
  friend class BegunStep;
  friend class PreparedLoad;
  using MakeMessage = std::function<msg::AnyMessage(const NodeName& owner)>;
  struct Answer {
    NodeName owner;
    Result<msg::AnyMessage> message;
  };

  [[nodiscard]] Future<msg::AnyMessage> ask(NodeCore& core, Due due, const NodeName& owner,
                                            const std::string& operation, msg::AnyMessage message) const;
  /// Sends a request to each owner and waits for all answers. Every request ends.
  [[nodiscard]] std::vector<Answer> ask_all(NodeCore& core, Due due, const std::string& operation,
                                            const MakeMessage& make_message) const;
  [[nodiscard]] std::string actor() const { return "shard/" + id_.text(); }
  /// Requests the shards, and takes the options of the groups.
  void begin(NodeCore& core, Due due, const std::string& operation, const MakeMessage& make_message);
  [[nodiscard]] msg::ShardCreate creation(const NodeName& owner) const;
  [[nodiscard]] std::vector<msg::StepOwner> all_owners() const;

  /// Registers a step without an outcome yet. Throws if no further step is possible.
  [[nodiscard]] StepId begin_step(NodeCore& core);
  /// Every owner has reported the step's outcome, or knows it without a report.
  void end_step(const StepId& step);
  /// An owner is gone that may have been the first to apply a step: the other owners still need the outcome of that
  /// step, and no step can follow it.
  void lost(const Error& why);
  /// Returns the serial below which all outcomes are known.
  [[nodiscard]] std::uint64_t settled() const;

  /// Waits until this trainer may take a step (bounded staleness).
  void wait_for_turn(NodeCore& core, Due due);
  /// Prepares a step on all owners. Throws if one refuses it: then it is to be aborted.
  void prepare(NodeCore& core, Due due, const std::string& operation, const MakeMessage& make_message);
  /// The step has ended without a decision: tells every owner to abort it.
  void abort(const StepId& step) noexcept;
  void commit(NodeCore& core, Due due, BegunStep& step);
  /// Decides the step, sends `make_message` to every owner and waits until `due` for the outcome. If it throws before
  /// the decision, `begun` stays undecided.
  void carry_out(NodeCore& core, Due due, BegunStep& begun, StepRun::Refusal refusal,
                 std::function<msg::AnyMessage()> make_message);
  /// `silent`: owners whose outcome is not known.
  [[noreturn]] void fail_unknown(const StepId& step, const StepRun& run, const std::map<NodeName, Error>& silent);

  /// Returns the state if no step was under way; nullopt if one was.
  [[nodiscard]] std::optional<NamedTensors> try_state(NodeCore& core, Due due, StateContent content);
  [[nodiscard]] NamedTensors merged(std::vector<msg::ShardSaved> parts) const;
  /// Returns the tensors of `state` for each owner. Throws ValueError.
  [[nodiscard]] std::map<NodeName, NamedTensors> by_owner(const NamedTensors& state) const;
  /// Sends every owner its part of a state, the last message of it with prepare(). Throws as prepare().
  void send_state(NodeCore& core, Due due, const StepId& step, const std::map<NodeName, NamedTensors>& states);
  /// Returns the rest of the state of which `saved` is the beginning; nullopt if a step was taken meanwhile.
  [[nodiscard]] std::optional<msg::ShardSaved> with_rest(NodeCore& core, Due due, const NodeName& owner,
                                                         msg::ShardSaved saved, bool values) const;

  const std::weak_ptr<NodeCore> node_;
  const OptimizerId id_;
  const Stepping stepping_;
  const std::vector<DistParameterGroup> groups_;  // keeps the values
  std::vector<NodeLife> owners_;                  // by name; constant after create()

  std::atomic<bool> stepping_now_{false};  // a step with bounded staleness is under way

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<optim::Optimizer>> rules_;  // guarded by mutex_; of each group, without states: rates
  std::vector<std::optional<double>> momentums_;          // guarded by mutex_; of each group, if it was set
  std::set<std::uint64_t> unresolved_;                    // guarded by mutex_
  std::uint64_t last_ = 0;                                // guarded by mutex_; serial of the latest step
  std::optional<Error> lost_;                             // guarded by mutex_
  std::deque<std::pair<StepId, Future<StepOutcome>>> unknown_;  // guarded by mutex_; the oldest first
};

/// Calls `is_ready` until it returns true, with pauses. Throws RemoteError: timeout after `due`; shutting_down once the
/// node has stopped.
void wait_between_steps(NodeCore& core, OptimizerDriver::Due due, const std::function<bool()>& is_ready);

}  // namespace troupe::detail
