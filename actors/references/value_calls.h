// Calls that make a value of this node, or run on one. They take what the call carries; after an exception the caller
// releases the references that it still has.
#pragma once

#include "actors/core/node_core.h"
#include "messages/rpc.h"

namespace troupe::detail {

/// Makes the value, answers, then runs the function that produces it. A later failure becomes the value. On the
/// receiving thread; does not block.
void serve_remote_call(NodeCore& node, const Delivery& delivery, msg::RemoteCall& call);

/// Runs the function in its turn on the value. Answers with the result, or at once if the result stays as a value. On
/// the receiving thread; does not block.
void serve_value_call(NodeCore& node, const Delivery& delivery, msg::ValueCall& call);

}  // namespace troupe::detail
