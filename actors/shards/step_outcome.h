// The outcome of one step of a DistOptimizer.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// The owners of the step's parameters, by what they did. Final.
struct StepOutcome {
  std::vector<NodeName> applied;
  std::map<NodeName, Error> not_applied;  ///< and never will apply it; with the reason
  std::map<NodeName, Error> lost;         ///< gone, or this node stopped, before they answered; with the reason
};

/// An owner did not confirm within the step's deadline whether it applied the step, or is gone. Its code is
/// step_unknown.
class StepUnknown final : public RemoteError {
 public:
  StepUnknown(Error error, StepId step) : RemoteError(std::move(error)), step_(std::move(step)) {}

  /// Returns the step, for DistOptimizer::outcome.
  [[nodiscard]] const StepId& step() const noexcept { return step_; }

 private:
  StepId step_;
};

}  // namespace troupe
