// The variables behind references that this node owns.
#pragma once

#include <functional>
#include <vector>

#include "actors/core/node_core.h"
#include "autograd/variable.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Tells `done` the variables that `rrefs`, values of this node, hold, in order, once all exist; `asker` named them. Told once, on
/// any thread. Errors: what ended a reference; bad_argument if one holds something else.
void variables_of(NodeCore& node, const std::vector<RRefId>& rrefs, const NodeLife& asker,
                  std::function<void(Result<std::vector<Variable>>)> done);

}  // namespace troupe::detail
