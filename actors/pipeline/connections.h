// Which results of which stage become which parameters of another. Plain rules.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace troupe::detail {

/// A stage, as its types show it.
struct StageShape {
  NodeName node;
  std::vector<std::string> parameters;  ///< the wire structure of each parameter of forward
  std::vector<std::string> results;     ///< and of each result: the elements of a tuple, or one
  std::vector<std::string> stash;       ///< names of its last results, which do not go to the next stage
  std::vector<std::string> pop;         ///< names of its last parameters, which come from earlier stages
};

/// A result that goes to a stage which is not the next one.
struct SkipSource {
  std::size_t stage = 0;
  std::size_t result = 0;
  friend bool operator==(const SkipSource&, const SkipSource&) = default;
};

/// Returns for each stage where its popped parameters come from, in their order. `inputs` and `outputs`: the wire
/// structures of the pipeline's own parameters and results. Throws std::invalid_argument that names stages and values:
/// no stages; neighbours that do not fit each other; a name that is not stashed exactly once and popped exactly once,
/// in a later stage.
[[nodiscard]] std::vector<std::vector<SkipSource>> connect(const std::vector<StageShape>& stages,
                                                           const std::vector<std::string>& inputs,
                                                           const std::vector<std::string>& outputs);

}  // namespace troupe::detail
