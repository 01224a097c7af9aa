// How a DistOptimizer is made and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "actors/rref.h"
#include "autograd/variable.h"
#include "optim/rule_options.h"

namespace troupe {

/// Parameters that share one rule and one set of options, wherever they live.
struct DistParameterGroup {
  std::vector<RRef<Variable>> parameters;
  optim::RuleOptions options;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(parameters, options);
  }
};

/// The most steps of one optimizer that may be unresolved at the same time.
inline constexpr std::size_t kUnresolvedStepsMax = 64;
/// The most steps ended with StepUnknown that DistOptimizer::outcome remembers; older ones are forgotten.
inline constexpr std::size_t kUnknownStepsMax = 256;

/// How the owners of parameters take one step.
enum class StepMode : std::uint8_t {
  atomic,   ///< all owners or none: every owner prepares before any commits
  hogwild,  ///< each owner on its own, with half the messages: other trainers' steps may interleave
  /// As hogwild. But a trainer waits before a step while its clock, the number of steps that it has taken, exceeds that
  /// of the slowest trainer by more than the staleness. With staleness 0 all take a step before any takes the next.
  bounded_staleness,
};

/// The mode of steps: `StepMode::hogwild`, `{StepMode::bounded_staleness, 3}`.
struct Stepping {
  Stepping() = default;
  Stepping(StepMode m, std::uint64_t s = 0) : mode(m), staleness(s) {}  // NOLINT(google-explicit-constructor)

  StepMode mode = StepMode::atomic;
  std::uint64_t staleness = 0;  ///< of bounded_staleness
  template <class Archive>
  void serialize(Archive& ar) {
    ar(mode, staleness);
  }
};

/// The rate of one step: `0.1` for all groups, `{0.1, 0.01}` for each; default-constructed: those of the optimizer.
class StepRates {
 public:
  StepRates() = default;
  StepRates(double of_all);                       // NOLINT(google-explicit-constructor)
  StepRates(std::initializer_list<double> each);  // NOLINT(google-explicit-constructor)
  StepRates(std::vector<double> each);            // NOLINT(google-explicit-constructor)

  /// Returns the rate of each group; empty: those of the optimizer. Throws ValueError `[DistOptimizer] 3 rates for 2
  /// groups`.
  [[nodiscard]] std::vector<double> of_groups(std::size_t count) const;

 private:
  std::optional<double> of_all_;
  std::vector<double> each_;
};

/// What one step does differently, the same for all owners.
struct DistStepOptions {
  StepRates lr = {};            ///< of this step only, from a schedule (optim/lr_schedule.h)
  double gradient_scale = 1.0;  ///< first, each element of a gradient is multiplied by this
  double gradient_limit = std::numeric_limits<double>::infinity();  ///< then clamped to [-limit, limit]
  /// Limits the norm of all scaled gradients taken as one vector, over all owners, as torch.nn.utils.clip_grad_norm_.
  /// Costs a call to each owner.
  std::optional<double> max_norm = {};
};

/// What DistOptimizer::state_dict returns.
enum class StateContent : std::uint8_t {
  rules,             ///< options and states of the update rules: the names of optim::LocalOptimizer::state_dict()
  rules_and_values,  ///< also the values of the parameters at the same step: "groups.0.parameters.3.value"
};

}  // namespace troupe
