// What became of one step of a DistOptimizer.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// The owners of its parameters, by what they did. Final.
struct StepOutcome {
  std::vector<NodeName> applied;
  std::map<NodeName, Error> not_applied;  ///< and never will; why
  std::map<NodeName, Error> lost;         ///< are gone, or this node has stopped, before they said it; why
};

/// An owner has not said within the step's deadline whether it applied it, or is gone. Its code is step_unknown.
class StepUnknown final : public RemoteError {
 public:
  StepUnknown(Error error, StepId step) : RemoteError(std::move(error)), step_(std::move(step)) {}

  /// For DistOptimizer::outcome.
  [[nodiscard]] const StepId& step() const noexcept { return step_; }

 private:
  StepId step_;
};

}  // namespace troupe
