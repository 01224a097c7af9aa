// The variables behind references that this node owns.
#pragma once

#include <functional>
#include <vector>

#include "actors/core/node_core.h"
#include "autograd/variable.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Calls `done` once, on any thread, with the variables that `rrefs`, values of this node, hold, in order, when all
/// exist; `asker` requested them. Errors: the error of a failed reference; bad_argument if a value is no variable.
void variables_of(NodeCore& node, const std::vector<RRefId>& rrefs, const NodeLife& asker,
                  std::function<void(Result<std::vector<Variable>>)> done);

}  // namespace troupe::detail
