// Calls that make a value of this node, or run on one.
#pragma once

#include "actors/core/node_core.h"
#include "messages/rpc.h"

namespace troupe::detail {

/// Makes the value, answers, and runs the function whose result it is to be. What fails later is the value. On the receiving
/// thread; does not block.
void serve_remote_call(NodeCore& node, const Delivery& delivery, msg::RemoteCall call);

/// Runs the function in its turn on the value. Answers with its result; or at once, where that is to stay as a value.
/// Likewise.
void serve_value_call(NodeCore& node, const Delivery& delivery, msg::ValueCall call);

}  // namespace troupe::detail
