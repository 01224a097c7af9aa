// The steps of one handle of an optimizer on one owner: carries out on the ShardParameters what the StepLedger decides
// on each. Plain rules: no CAF, no clock; one thread at a time, while no other shard of the node works. Rules SH-1 to
// SH-7 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/shards/shard_parameters.h"
#include "actors/shards/step_ledger.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/optim.h"
#include "tensor/io/named_tensors.h"

namespace troupe::detail {

class ShardRules {
 public:
  /// Messages to the other owners of steps under way. An update that fails now is retried by a later go_on().
  struct Words {
    std::list<StepLedger::Question> questions;
    std::list<StepLedger::Answer> answers;
    bool changed = false;  ///< true: parameters have new values
    bool again = false;
  };

  /// `parameters` are shared with the ShardRules of the optimizer's other handles.
  ShardRules(NodeLife self, std::shared_ptr<ShardParameters> parameters)
      : parameters_(std::move(parameters)), ledger_(std::move(self)) {}

  /// Computes the change. Errors: step_not_applied if the step was aborted, or is new and the driver is gone;
  /// bad_argument if a gradient, a setting or a saved state does not fit; resource_exhausted.
  [[nodiscard]] Result<msg::ShardPrepared> prepare(const StepId& step, ShardParameters::Change change,
                                                   std::vector<NodeLife> owners = {});

  /// Takes a part of a state, after those before it; prepares the change with the last one. Errors: as prepare();
  /// protocol_violation if it cannot be the next part, then the parts before it are dropped.
  [[nodiscard]] Result<msg::ShardPrepared> load(const msg::ShardLoad& part, std::vector<NodeLife> owners);

  /// Makes the prepared update visible. Errors: step_not_applied if the step was aborted or is unknown here; any other
  /// error leaves it prepared.
  [[nodiscard]] Result<msg::ShardStepped> commit(const StepId& step);

  void abort(const StepId& step);

  /// Prepares and commits. Errors as prepare.
  [[nodiscard]] Result<msg::ShardStepped> step(const StepId& step, ShardParameters::Change change);

  /// Events that decide steps without the driver; go_on() follows each.
  void settled(std::uint64_t floor);
  void driver_gone();
  void asked(const NodeLife& by, const StepId& step, msg::StepState own) { ledger_.asked(by, step, own); }
  void answered(const NodeLife& owner, const StepId& step, std::optional<msg::StepState> state) {
    ledger_.answered(owner, step, state);
  }

  /// Applies and aborts what has been decided. Returns the messages to send, also those that the caller has left there
  /// earlier: it removes what it has sent.
  [[nodiscard]] Words& go_on();

  /// Returns true if the driver is gone and no owner needs to know of a step any more.
  [[nodiscard]] bool over() const { return ledger_.over(); }

  [[nodiscard]] msg::ShardOutcome outcome(const StepId& step) const { return {step, ledger_.state(step), version()}; }

  /// Returns whether the step was applied and is not forgotten.
  [[nodiscard]] bool has_applied(const StepId& step) const { return ledger_.state(step) == msg::StepState::applied; }

  /// Returns the number of changes of the parameters.
  [[nodiscard]] std::uint64_t version() const noexcept { return parameters_->version(); }

  [[nodiscard]] bool has_driver() const noexcept { return has_driver_; }

  /// Returns the number of steps of this handle that were applied; a loaded state is none.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  [[nodiscard]] const ShardParameters& parameters() const noexcept { return *parameters_; }

 private:
  struct Prepared {
    ShardParameters::Change change;
    std::uint64_t updated = 0;
    ShardParameters::Open open;
  };

  msg::ShardStepped apply(const StepId& step, const ShardParameters::Change& change);
  /// Adds a part of a state to those before it. Returns why it cannot be one.
  [[nodiscard]] std::optional<std::string> keep_part(const msg::ShardLoad& part);
  void give_back(const StepId& step);

  std::shared_ptr<ShardParameters> parameters_;
  StepLedger ledger_;
  Words words_;
  std::uint64_t steps_ = 0;
  bool has_driver_ = true;
  std::map<StepId, Prepared> prepared_;   // the steps that are prepared in the ledger
  std::map<StepId, NamedTensors> loads_;  // states of which the last part has not come; of steps that are unknown
};

}  // namespace troupe::detail
