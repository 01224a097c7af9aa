// What a backward pass is asked to do.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "actors/clock.h"
#include "autograd/engine.h"
#include "autograd/variable.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Variables on several nodes.
struct PassPlaces {
  std::vector<Variable> local;                     ///< of the node that starts the pass, in the user's order
  std::map<NodeName, std::vector<RRefId>> remote;  ///< values that other nodes own, in the user's order
};

struct PassPlan {
  PassPlaces roots;                       ///< each starts with gradient 1
  std::optional<PassPlaces> inputs = {};  ///< only these keep a gradient; nullopt: all leaves
  Graph graph = Graph::keep;
  std::map<NodeName, Incarnation> lives = {};  ///< of the nodes that own remote roots and inputs
  std::shared_ptr<const void> kept = {};       ///< what must live until the pass is over
};

/// What ends a pass early.
struct PassLimits {
  std::optional<TimePoint> due = {};
  std::vector<std::stop_token> cancelled_by = {};  ///< the first that stops cancels the pass
};

}  // namespace troupe::detail
