// The parameters of one optimizer on one owner, its rule's state, and what became of each step. Plain rules: no CAF, no
// clock; one thread at a time, and no other shard of the node at work meanwhile. Rules SH-1 to SH-4 of PROTOCOLS.md.
//
//   unknown --prepare--> prepared --commit--> applied          unknown --step--> applied
//   unknown, prepared --abort--> aborted                       applied and aborted are final
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/gradients.h"
#include "autograd/variable.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/optim.h"
#include "optim/optimizer.h"
#include "optim/second_buffers.h"

namespace troupe::detail {

class ShardPart {
 public:
  /// Finished steps remembered; of older ones nothing is known.
  static constexpr std::size_t kStepsMax = 256;

  /// Parameters are leaves that require a gradient, none twice. Throws TensorError otherwise.
  ShardPart(std::unique_ptr<optim::Optimizer> rule, std::vector<Variable> parameters);

  /// Computes the update. Errors: step_not_applied if the step was aborted, bad_argument if a gradient does not fit.
  [[nodiscard]] Result<msg::ShardPrepared> prepare(const StepId& step, const Gradients& gradients);

  /// Makes the prepared update visible. Errors: step_not_applied if the step was aborted, or is not known here.
  [[nodiscard]] Result<msg::ShardStepped> commit(const StepId& step);

  void abort(const StepId& step);

  /// Both at once. Errors as prepare.
  [[nodiscard]] Result<msg::ShardStepped> step(const StepId& step, const Gradients& gradients);

  [[nodiscard]] msg::ShardOutcome outcome(const StepId& step) const;

  /// How many steps were applied.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  struct Open {
    Gradients gradients;
    std::uint64_t updated = 0;
  };
  struct Done {
    msg::StepState state = msg::StepState::unknown;
    std::uint64_t version = 0;
  };
  /// The update that lies ready in second buffers.
  struct Ready {
    StepId step;
    std::vector<optim::ParameterUpdate> updates;
  };

  void compute(const StepId& step, const Gradients& gradients);
  void drop_ready();
  /// Keeps `memory`, which differs from the present value where `update` changes it.
  void keep(Tensor memory, const Tensor& present, const optim::ParameterUpdate& update);
  [[nodiscard]] bool is_current(const Ready& ready) const;
  [[nodiscard]] Result<msg::ShardStepped> apply(const StepId& step, const Gradients& gradients);
  void finish(const StepId& step, msg::StepState state);

  std::unique_ptr<optim::Optimizer> rule_;
  std::vector<Variable> parameters_;
  optim::SecondBuffers buffers_;
  std::uint64_t version_ = 0;
  std::map<StepId, Open> open_;
  std::map<StepId, Done> done_;
  std::deque<StepId> done_order_;
  std::optional<Ready> ready_;
};

}  // namespace troupe::detail
