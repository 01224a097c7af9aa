// The parameters of one optimizer on one owner, with its rule's state: carries out what the StepLedger decides on each
// step. Plain rules: no CAF, no clock; one thread at a time, while no other shard of the node works. Rules SH-1 to SH-7
// of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/shards/step_ledger.h"
#include "autograd/gradients.h"
#include "autograd/variable.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/optim.h"
#include "optim/optimizer.h"
#include "optim/second_buffers.h"

namespace troupe::detail {

class ShardRules {
 public:
  /// Messages to the other owners of steps under way. An update that fails now is retried by a later go_on().
  struct Words {
    std::vector<StepLedger::Question> questions;
    std::vector<std::pair<NodeLife, msg::ShardOutcome>> answers;
    bool changed = false;  ///< true: parameters have new values
    bool again = false;
  };

  /// REQUIRES: parameters are leaves that require a gradient, none twice. Throws TensorError otherwise.
  ShardRules(NodeLife self, std::unique_ptr<optim::Optimizer> rule, std::vector<Variable> parameters);

  /// Computes the update. Errors: step_not_applied if the step was aborted, bad_argument if a gradient or a setting
  /// does not fit, resource_exhausted.
  [[nodiscard]] Result<msg::ShardPrepared> prepare(const StepId& step, const Gradients& gradients,
                                                   std::vector<NodeLife> owners = {},
                                                   const msg::StepSettings& settings = {});

  /// Makes the prepared update visible. Errors: step_not_applied if the step was aborted or is unknown here; any other
  /// error leaves it prepared.
  [[nodiscard]] Result<msg::ShardStepped> commit(const StepId& step);

  void abort(const StepId& step);

  /// Prepares and commits. Errors as prepare.
  [[nodiscard]] Result<msg::ShardStepped> step(const StepId& step, const Gradients& gradients,
                                               const msg::StepSettings& settings = {});

  /// Events that decide steps without the driver; go_on() follows each.
  void settled(std::uint64_t floor) { ledger_.settled(floor); }
  void driver_gone() { ledger_.driver_gone(); }
  void asked(const NodeLife& by, const StepId& step, msg::StepState own) { ledger_.asked(by, step, own); }
  void answered(const NodeLife& owner, const StepId& step, std::optional<msg::StepState> state) {
    ledger_.answered(owner, step, state);
  }

  /// Applies and aborts what has been decided. Returns the messages to send.
  [[nodiscard]] Words go_on();

  /// Returns true if the driver is gone and no owner needs to know of a step any more.
  [[nodiscard]] bool over() const { return ledger_.over(); }

  [[nodiscard]] msg::ShardOutcome outcome(const StepId& step) const { return {step, ledger_.state(step), version_}; }

  /// Returns the number of applied steps.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  /// What an update is computed from.
  struct Inputs {
    Gradients gradients;
    msg::StepSettings settings;
  };
  struct Open {
    Inputs inputs;
    std::uint64_t updated = 0;
  };
  /// An update that is ready in second buffers.
  struct Ready {
    StepId step;
    std::vector<optim::ParameterUpdate> updates;
  };

  void compute(const StepId& step, const Inputs& inputs);
  void drop_ready();
  /// Keeps `memory`, which differs from the present value where `update` changes it, as a buffer. Drops it if keeping
  /// it needs memory that is not available.
  void keep(Tensor memory, const Tensor& present, const optim::ParameterUpdate& update) noexcept;
  [[nodiscard]] bool is_current(const Ready& ready) const;
  [[nodiscard]] Result<msg::ShardStepped> apply(const StepId& step, const Inputs& inputs);
  void make_visible(const StepId& step);
  void give_back(const StepId& step);

  std::unique_ptr<optim::Optimizer> rule_;
  const double lr_;  // the rule's own, of steps that set none
  std::vector<Variable> parameters_;
  optim::SecondBuffers buffers_;
  std::uint64_t version_ = 0;
  StepLedger ledger_;
  std::map<StepId, Open> open_;  // of prepared steps
  std::optional<Ready> ready_;
};

}  // namespace troupe::detail
