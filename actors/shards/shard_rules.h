// The parameters of one optimizer on one owner and its rule's state: carries out what the StepLedger says of each step.
// Plain rules: no CAF, no clock; one thread at a time, and no other shard of the node at work meanwhile. Rules SH-1 to SH-7
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
  /// Words for the other owners of steps under way. An update that cannot be made now is made when go_on() is called
  /// again, which the caller does later.
  struct Words {
    std::vector<StepLedger::Question> questions;
    std::vector<std::pair<NodeLife, msg::ShardOutcome>> answers;
    bool changed = false;  ///< parameters have new values
    bool again = false;
  };

  /// Parameters are leaves that require a gradient, none twice. Throws TensorError otherwise.
  ShardRules(NodeLife self, std::unique_ptr<optim::Optimizer> rule, std::vector<Variable> parameters);

  /// Computes the update. Errors: step_not_applied if the step was aborted, bad_argument if a gradient does not fit,
  /// resource_exhausted.
  [[nodiscard]] Result<msg::ShardPrepared> prepare(const StepId& step, const Gradients& gradients,
                                                   std::vector<NodeLife> owners = {});

  /// Makes the prepared update visible. Errors: step_not_applied if the step was aborted, or is not known here. Any other
  /// leaves it prepared.
  [[nodiscard]] Result<msg::ShardStepped> commit(const StepId& step);

  void abort(const StepId& step);

  /// Both at once. Errors as prepare.
  [[nodiscard]] Result<msg::ShardStepped> step(const StepId& step, const Gradients& gradients);

  /// What becomes of steps when the driver says no more; go_on() follows each.
  void settled(std::uint64_t floor) { ledger_.settled(floor); }
  void driver_gone() { ledger_.driver_gone(); }
  void asked(const NodeLife& by, const StepId& step, msg::StepState own) { ledger_.asked(by, step, own); }
  void answered(const NodeLife& owner, const StepId& step, std::optional<msg::StepState> state) {
    ledger_.answered(owner, step, state);
  }

  /// Applies and aborts what has been decided; returns what is to be said.
  [[nodiscard]] Words go_on();

  /// The driver is gone, and nobody needs to know of a step any more.
  [[nodiscard]] bool over() const { return ledger_.over(); }

  [[nodiscard]] msg::ShardOutcome outcome(const StepId& step) const { return {step, ledger_.state(step), version_}; }

  /// How many steps were applied.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  struct Open {
    Gradients gradients;
    std::uint64_t updated = 0;
  };
  /// The update that lies ready in second buffers.
  struct Ready {
    StepId step;
    std::vector<optim::ParameterUpdate> updates;
  };

  void compute(const StepId& step, const Gradients& gradients);
  void drop_ready();
  /// Keeps `memory`, which differs from the present value where `update` changes it; drops it if that needs memory that
  /// there is not.
  void keep(Tensor memory, const Tensor& present, const optim::ParameterUpdate& update) noexcept;
  [[nodiscard]] bool is_current(const Ready& ready) const;
  [[nodiscard]] Result<msg::ShardStepped> apply(const StepId& step, const Gradients& gradients);
  void make_visible(const StepId& step);
  void give_back(const StepId& step);

  std::unique_ptr<optim::Optimizer> rule_;
  std::vector<Variable> parameters_;
  optim::SecondBuffers buffers_;
  std::uint64_t version_ = 0;
  StepLedger ledger_;
  std::map<StepId, Open> open_;  // of prepared steps
  std::optional<Ready> ready_;
};

}  // namespace troupe::detail
